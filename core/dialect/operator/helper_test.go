package operator_test

import (
	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

const (
	sessionID = "019b7ca9-0000-7000-8000-000000000000"
	header    = `{"type":"session","version":3,"id":"` + sessionID + `","timestamp":1767323045.123456,"cwd":"/home/dev/project"}`
)

// Lines that many tests begin with.
const (
	hello  = `{"id":"u1","timestamp":1001.5,"type":"message","message":` + helloM + `}`
	hi     = `{"id":"a1","timestamp":1002.5,"parent_id":"u1","type":"message","message":` + hiM + `}`
	helloM = `{"contents":[{"type":"text","content":"hello"}],"id":"m-1","timestamp":1001.0,"role":"user"}`
	hiM    = `{"contents":[{"type":"text","content":"hi"}],"id":"m-2","timestamp":1002.0,"role":"assistant","usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"cost":{"input":9.0,"total":0.5}},"stop_reason":"stop","error":""}`
)

var (
	text = dialecttest.Text
	ids  = dialecttest.IDs
)

func entries(t rapid.TB, lines ...string) []core.Entry {
	t.Helper()
	return dialecttest.Entries(t, operator.Dialect{}, lines...)
}

func theHeader(t rapid.TB) core.Header {
	t.Helper()
	h, err := operator.Dialect{}.Header([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// then is an entry of some type behind parent, with more members.
func then(kind, id, parent, rest string) string {
	line := `{"id":"` + id + `","timestamp":1003.25`
	if parent != "" {
		line += `,"parent_id":"` + parent + `"`
	}
	return line + `,"type":"` + kind + `"` + rest + `}`
}

// says is a message entry.
func says(id, parent, message string) string {
	return then("message", id, parent, `,"message":`+message)
}
