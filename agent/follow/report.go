package follow

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// maxNote bounds a note in bytes. A node accepts notes of up to 4 KiB.
const maxNote = 3 << 10

// reportBad records and reports lines that are not entries.
func (fl *Follower) reportBad(ctx context.Context, f *file, bad [][]byte) error {
	if len(bad) == 0 {
		return nil
	}
	why := fmt.Sprintf("lines of %s that are not entries:", f.path)
	for _, line := range bad {
		why += " " + quote(line, maxNote/2)
	}
	if err := fl.record(ctx, f, why); err != nil {
		return err
	}
	what := "is not an entry and is"
	if len(bad) > 1 {
		what = "are not entries and are"
	}
	fl.notify(Notice{Kind: BadLine, Path: f.path, Session: f.place.Session, Text: fmt.Sprintf(
		"%s of %s %s not in session %s: %s", count(len(bad), "line"), f.path, what, f.place.Session, quote(bad[0], 80))})
	return nil
}

// reportDiverged reports that another writer continued the session, too.
func (fl *Follower) reportDiverged(ctx context.Context, f *file) {
	p := &f.place
	who := "another writer"
	if hs, err := fl.cfg.Node.Heads(ctx, string(p.Session)); err == nil && len(hs.Heads) > 0 && hs.Heads[0].Claim != nil {
		who = hs.Heads[0].Claim.Name()
	}
	fl.notify(Notice{Kind: Diverged, Path: f.path, Session: p.Session, Head: p.Head, Text: fmt.Sprintf(
		"%s continued session %s, too, so new lines of %s go to head %s and both are kept: continue as before, or end the agent and continue theirs with: sessctl resume %s",
		who, p.Session, f.path, p.Head, p.Session)})
}

// entryNames returns the IDs of entries; for those without ID, how they begin.
func entryNames(es []core.Entry) string {
	var all []string
	for _, e := range es {
		if e.ID != "" {
			all = append(all, clip(e.ID, 64))
			continue
		}
		all = append(all, quote(e.Line, 80))
	}
	return strings.Join(all, ", ")
}

func quote(line []byte, n int) string { return fmt.Sprintf("%q", clip(string(line), n)) }

// noteText returns why as a session stores it: valid UTF-8 of bounded length.
func noteText(why string) string { return clip(strings.ToValidUTF8(why, "\uFFFD"), maxNote) }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
