package prompts

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/words"
)

// maxPrompt is how many bytes of a prompt are kept.
const maxPrompt = 64 << 10

// A prompt is one row of the history.
type prompt struct {
	place   int // of the entry in its session
	part    int // of the prompt among those of the entry
	entry   string
	created int64 // milliseconds since 1970, 0 where nobody knows
	text    string
	cut     bool
}

// A trace is what is remembered of a session's last prompt.
type trace struct {
	created int64
	sum     [sha256.Size]byte // of its text
}

// collect returns the prompts that es hold, and the trace of the last one. place
// is that of es[0] in its session, last is of the prompt before it: one that
// says the same is left out, and one without a time gets that of the one before.
func collect(d core.Dialect, es []core.Entry, place int, last trace) ([]prompt, trace) {
	var ps []prompt
	for i := range es {
		for part, it := range d.Read(es[i]) {
			if it.Kind != core.ItemMessage || it.Role != core.RoleUser {
				continue
			}
			p := prompt{place: place + i, part: part, entry: es[i].ID, created: last.created}
			if ms, ok := millis(it.Time); ok {
				p.created = ms
			} else if ms, ok := millis(es[i].Time); ok {
				p.created = ms
			}
			p.text, p.cut = textOf(it.Blocks)
			sum := sha256.Sum256([]byte(p.text))
			if p.text == "" || sum == last.sum {
				continue
			}
			ps = append(ps, p)
			last = trace{p.created, sum}
		}
	}
	return ps, last
}

// textOf is what a message says in words, and whether there is more of it.
func textOf(blocks []core.Block) (text string, cut bool) {
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Kind != core.BlockText || blocks[i].Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(blocks[i].Text)
		if b.Len() > maxPrompt {
			break
		}
	}
	text = words.Clean(strings.TrimSpace(b.String()))
	if len(text) <= maxPrompt {
		return text, false
	}
	return strings.ToValidUTF8(text[:maxPrompt], ""), true
}

// bound is words.Clean for what is short by nature: a directory, a name.
func bound(s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return words.Clean(s)
}

// millis reads a time of ISO 8601 with a zone.
func millis(s string) (int64, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, false
	}
	return t.UnixMilli(), true
}

// isoTime is the inverse of millis, and empty for 0.
func isoTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
