package operator_test

import (
	"encoding/json"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// seeds are files in which something is odd.
var seeds = [][]byte{
	text(header, hello, hi),
	text(`{"type":"session","id":"s","cwd":""}`, `{"timestamp":1}`),
	text("junk", "", `{"type":"x"}`, header, hello, "{bad", "null", hi)[:260],
	text(`{"type":"session_header","id":"s","cwd":"/"}`, `{"type":"message","message":{"role":"user","contents":[{}]}}`, leafTo("l", "u1", "null")),
	text(header, at("a", "b", "1"), at("b", "a", "1e400"), at("a", "a", `"5"`), `{}`, header),
	text(header, hello, then("compaction", "k", "u1", `,"summary":"S","first_kept_entry_id":"u1"`), then("custom_message", "c", "k", `,"custom_type":"x","content":[]`), leafTo("l", "c", `"gone"`)),
	text(header, then("label", "l", "l", `,"target_id":"l","label":"x"`), then("session_info", "n", "l", `,"name":" x"`), then("channel", "h", "n", `,"name":"x"`), then("thinking_level_change", "t", "n", ultra)),
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
		d := operator.Dialect{}
		if (pi.Dialect{}).Detect(data) && d.Detect(data) {
			t.Fatal("a session of pi and of Operator")
		}
		file, err := d.File(data)
		if err != nil {
			return
		}
		checkLines(t, file, data)
		holdTogether(t, file)
	})
}

// FuzzMessage holds that the context of any message is JSON, and that what is
// usable of it can be read again and is the same then.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(helloM))
	f.Add([]byte(hiM))
	f.Add([]byte(` { "\u0072ole" : "assistant", "contents":[{"type":"tool_call"}] } `))
	f.Add([]byte(`{"role":"assistant","contents":[{"content":"\ud800"}],"stop_reason":"error","1":1e400}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		d := operator.Dialect{}
		e, err := d.Entry([]byte(says("m", "", string(message))))
		if err != nil {
			return
		}
		context, err := d.Context([]core.Entry{e}, core.Leaf{})
		if err != nil || !json.Valid(context) {
			t.Fatalf("context %q: %v", context, err)
		}
		if m, err := operator.WithMeta(e, []byte(`{"reactions":[]}`)); err == nil {
			if same, err := d.Context([]core.Entry{m}, core.Leaf{}); err != nil || string(same) != string(context) {
				t.Fatalf("with meta %q: %q, %v", m.Line, same, err)
			}
		}
		usable, err := operator.Usable(context)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := operator.Usable(usable); err != nil || string(again) != string(usable) {
			t.Fatalf("usable %q, again %q, %v", usable, again, err)
		}
	})
}
