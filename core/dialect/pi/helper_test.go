package pi_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

const header = `{"type":"session","version":3,"id":"019b7ca9-0000-7000-8000-000000000000","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/project"}`

// Lines that many tests begin with.
const (
	hello  = `{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T03:04:01.000Z","message":{"role":"user","content":"hello","timestamp":1001}}`
	hi     = `{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-02T03:04:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"openai","model":"m1","timestamp":1002}}`
	helloM = `{"role":"user","content":"hello","timestamp":1001}`
	hiM    = `{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"openai","model":"m1","timestamp":1002}`
)

// text is the lines as a file.
func text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// entries reads lines as the entries of a session of version 3.
func entries(t testing.TB, lines ...string) []core.Entry {
	t.Helper()
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := pi.Dialect{}.Entry([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		es[i] = e
	}
	return es
}

func ids(es []core.Entry) string {
	var b strings.Builder
	for i := range es {
		b.WriteString(" " + es[i].ID)
	}
	return strings.TrimPrefix(b.String(), " ")
}
