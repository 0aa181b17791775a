package omp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

const header = `{"type":"session","version":3,"id":"019b7ca9-0000-7000-8000-000000000000","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/project"}`

// Lines that many tests begin with.
const (
	hello  = `{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hello"}}`
	hi     = `{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"openai","model":"m1"}}`
	helloM = `{"role":"user","content":"hello"}`
	hiM    = `{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"openai","model":"m1"}`
	stamp  = `"timestamp":1767323045000`
)

// slot is a title slot of 256 bytes with its newline, less the newline.
func slot(title, source, at string) string {
	if source != "" {
		source = `"source":"` + source + `",`
	}
	begin := `{"type":"title","v":1,"title":"` + title + `",` + source + `"updatedAt":"` + at + `","pad":"`
	return begin + strings.Repeat(" ", 255-len(begin)-2) + `"}`
}

// renamed is an entry that gives a title.
func renamed(title, source, at string) string {
	return fmt.Sprintf(`{"type":"title_change","id":"t","parentId":null,"timestamp":%q,"title":%q,"source":%q}`, at, title, source)
}

// then is an entry of some type, with more members.
func then(kind, id, rest string) string {
	return fmt.Sprintf(`{"type":%q,"id":%q,"parentId":null,"timestamp":"2026-01-02T03:04:05.000Z"%s}`, kind, id, rest)
}

// stored is a message entry.
func stored(id, message string) string { return then("message", id, `,"message":`+message) }

func quoted(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

// chain makes each line the child of the one before.
func chain(lines ...string) []string {
	parent := ""
	for i, line := range lines {
		e, err := omp.Dialect{}.Entry([]byte(line))
		if err != nil {
			panic(line)
		}
		lines[i] = strings.Replace(line, `"parentId":`+quoted(e.Parent), `"parentId":`+quoted(parent), 1)
		parent = e.ID
	}
	return lines
}

var (
	text = dialecttest.Text
	ids  = dialecttest.IDs
)

func entries(t testing.TB, lines ...string) []core.Entry {
	t.Helper()
	return dialecttest.Entries(t, omp.Dialect{}, lines...)
}

// laidOut is a session as omp's file has it.
func laidOut(h core.Header, es []core.Entry) string {
	return string(core.Lines(omp.Dialect{}.Layout(h, es)))
}
