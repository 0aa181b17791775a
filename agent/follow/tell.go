package follow

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// tellBad records and tells lines that are no entries.
func (b *Follower) tellBad(ctx context.Context, f *file, bad [][]byte) error {
	if len(bad) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s in %s that are no entries:", count(len(bad), "line"), f.path)
	for _, line := range bad {
		why += " " + quote(line, maxWhy/2)
	}
	if err := b.record(ctx, f, why); err != nil {
		return err
	}
	b.notify(Notice{Kind: BadLine, Path: f.path, Session: f.place.Session, Text: fmt.Sprintf(
		"%s of %s %s no entry and %s not in session %s: %s", count(len(bad), "line"), f.path, plural(len(bad), "is", "are"),
		plural(len(bad), "is", "are"), f.place.Session, quote(bad[0], 80))})
	return nil
}

// tellSkipped is tellBad for those that were not told before. The record of a
// session that was made just now has them.
func (m *merging) tellSkipped(ctx context.Context) error {
	if len(m.own.Skipped) == 0 {
		return nil
	}
	var bad [][]byte
	lines := bytes.Split(m.raw, []byte("\n"))
	for _, s := range m.own.Skipped {
		if n := s.Line - 1; n < len(lines) && !m.had.has(hash(lines[n])) {
			bad = append(bad, lines[n])
		}
	}
	if !m.made {
		return m.b.tellBad(ctx, m.f, bad)
	}
	if len(bad) > 0 {
		m.b.notify(Notice{Kind: BadLine, Path: m.f.path, Session: m.id, Text: fmt.Sprintf(
			"%s of %s %s no entry; the file as it was is kept: sessctl export --original %s", count(len(bad), "line"), m.f.path, plural(len(bad), "is", "are"), m.id)})
	}
	return nil
}

// tellClashes records and tells what the log does not take, once.
func (m *merging) tellClashes(ctx context.Context, cs []clash) error {
	var fresh []clash
	for _, c := range cs {
		if h := hash(c.entry.Line); !m.f.clashes.has(h) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	m.f.place.Session, m.f.place.Head = m.id, m.head()
	why := fmt.Sprintf("%s of %s not taken:", count(len(fresh), "line"), m.f.path)
	for _, c := range fresh {
		why += fmt.Sprintf(" line %d: %s: %s", c.line, c.why, quote(c.entry.Line, 400))
	}
	if err := m.b.record(ctx, m.f, why); err != nil {
		return err
	}
	m.b.notify(Notice{Kind: Clashed, Path: m.f.path, Session: m.id, Text: fmt.Sprintf(
		"line %d of %s is not in session %s: %s; compare them with: sessctl entries %s", fresh[0].line, m.f.path, m.id, fresh[0].why, m.id)})
	if m.f.clashes == nil {
		m.f.clashes = set{}
	}
	for _, c := range fresh {
		m.f.clashes[hash(c.entry.Line)] = struct{}{}
	}
	return nil
}

// names are the ids of entries, or how the lines begin that have none.
func names(es []core.Entry) string {
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

// worded is why as a session keeps it: valid, and not too long.
func worded(why string) string { return clip(strings.ToValidUTF8(why, "\uFFFD"), maxWhy) }

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

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
