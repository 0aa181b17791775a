package pi_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
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

var (
	text = dialecttest.Text
	ids  = dialecttest.IDs
)

func entries(t testing.TB, lines ...string) []core.Entry {
	t.Helper()
	return dialecttest.Entries(t, pi.Dialect{}, lines...)
}
