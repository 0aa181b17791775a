package pi_test

import (
	"bytes"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// seeds are files in which something is odd.
var seeds = [][]byte{
	text(header, hello, hi),
	text("junk", "", header, hello, "{bad", "null", hi)[:200],
	text(`{"type":"session","id":"s"}`, `{"type":"message","message":{"role":"hookMessage"}}`, `{"type":"compaction","firstKeptEntryIndex":1}`),
	text(`{"type":"session","id":"s","version":"x"}`, `{"1":1e400,"0":"\ud800","0":2}`),
	text(header, node("a", "b", 1), node("b", "a", 2), node("a", "a", 3), `{}`, header),
	text(header, hello, hi, then("compaction", "k", `,"summary":"S","firstKeptEntryId":"u1","systemMessage":{"role":"system"}`), behind("k", then("context_edit", "e", `,"targetId":"a1","replacement":{"content":"x"}`))),
	text(header, then("label", "l", `,"targetId":"l","label":"x"`), then("session_info", "n", `,"name":"x"`), then("usage", "g", `,"usage":{"input":1e18}`)),
	[]byte("\ufeff" + header + "\r\n\xff\n\u2028\n{\"id\":\"\xe2\x82\"}"),
}

// FuzzFile holds that no file makes the dialect fail in another way than it
// promises, and what it promises of those it reads.
func FuzzFile(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		d := pi.Dialect{}
		d.Detect(data)
		file, err := d.File(data)
		if err != nil {
			return
		}
		whole := core.Lines(file.Header.Before(file.Entries))
		if file.Exact != bytes.Equal(whole, data) && file.Version == "3" {
			t.Fatalf("exact %v, rendered %q", file.Exact, whole)
		}
		again, err := d.File(whole)
		if err != nil || !bytes.Equal(core.Lines(again.Header.Before(again.Entries)), whole) {
			t.Fatalf("%q cannot be read again: %v", whole, err)
		}
		holdTogether(t, file)
	})
}

// FuzzContext requires that the context of any two lines after a compaction is
// JSON, and equal to that of the lines as JavaScript would write them.
func FuzzContext(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":null}`), []byte(`{"content":"x"}`))
	f.Add([]byte(`{"role":"assistant","content":"\ud800","1":1e400}`), []byte(`null`))
	f.Add([]byte(`"text"`), []byte(`5`))
	f.Add([]byte(` { "\u0072ole" : "toolResult" } `), []byte(`{"content":"<\u2028"}`))
	f.Fuzz(func(t *testing.T, message, replacement []byte) {
		d := pi.Dialect{}
		var es []core.Entry
		for _, line := range []string{
			hello, hi, then("compaction", "k", `,"firstKeptEntryId":"a1","systemMessage":`+string(message)),
			stored("m", "k", string(message)), behind("m", then("context_edit", "e", `,"targetId":"m","replacement":`+string(replacement))),
		} {
			e, err := d.Entry([]byte(line))
			if err != nil {
				return
			}
			es = append(es, e)
		}
		context, err := d.Context(es, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := d.Entry(context); err != nil || e.ID != "" {
			t.Fatalf("context %q: %v", context, err)
		}
	})
}
