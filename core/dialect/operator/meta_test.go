package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

// TestWithMeta: OP-16.
func TestWithMeta(t *testing.T) {
	t.Parallel()
	before, meta := `{"type":"message","n":1.0, "message":`+helloM, `{"reply_to":"r","reactions":["a"]}`
	for _, c := range []struct{ name, line, meta, want string }{
		{"Added", before + "} ", meta, before + `,"meta":` + meta + "} "},
		{"Replaced", before + `,"meta": {"meta":{}} ,"id":"x"}`, meta, before + `,"meta": ` + meta + ` ,"id":"x"}`},
		{"TheLastOfTwo", before + `,"meta":5,"m\u0065ta":null}`, meta, before + `,"meta":5,"m\u0065ta":` + meta + `}`},
		{"Null", before + `,"meta":{}}`, `null`, before + `,"meta":null}`},
		{"OnOneLine", before + `}`, "{\n \"reply_to\" : \"r\" }", before + `,"meta":{"reply_to":"r"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := operator.WithMeta(entries(t, c.line)[0], []byte(c.meta))
			if err != nil || string(e.Line) != c.want {
				t.Errorf("%s, %v; want %s", e.Line, err, c.want)
			}
		})
	}
	for _, bad := range [][2]string{{header, "{}"}, {says("x", "", "null"), "{}"}, {hello, "5"}, {hello, ""}, {hello, "{"}, {hello, "{}{}"}, {hello, `{"bogus":1}`}} {
		if _, err := operator.WithMeta(entries(t, bad[0])[0], []byte(bad[1])); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWithReaction: OP-16.
func TestWithReaction(t *testing.T) {
	t.Parallel()
	message := func(id, meta string) string {
		return then("message", id, "", `,"message":`+helloM+`,"meta":`+meta)
	}
	for _, c := range []struct{ name, before, after string }{
		{"First", `{"channel_message_id":"c1"}`, `{"channel_message_id":"c1","reactions":["👍"]}`},
		{"InNull", `{"reactions":null,"channel_message_id":"c1"}`, `{"reactions":["👍"],"channel_message_id":"c1"}`},
		{"Second", `{"channel_message_id":"c1","reactions":["x" ],"n":1.0}`, `{"channel_message_id":"c1","reactions":["x","👍"],"n":1.0}`},
		{"OnlyOnce", `{"channel_message_id":"c1","reactions":["x" ,"\ud83d\udc4d"]}`, `{"channel_message_id":"c1","reactions":["x" ,"\ud83d\udc4d"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			es := entries(t, hello, message("o", `{"channel_message_id":"c2"}`), message("x", c.before), message("y", c.before))
			e, err := operator.WithReaction(es, "c1", "👍")
			if err != nil || e.ID != "x" || string(e.Line) != message("x", c.after) {
				t.Fatalf("%s, %v", e.Line, err)
			}
			again, err := operator.WithReaction([]core.Entry{e}, "c1", "👍")
			if err != nil || string(again.Line) != string(e.Line) {
				t.Errorf("again: %s, %v", again.Line, err)
			}
		})
	}
	es := entries(t, hello, message("x", `null`), message("x", `{"channel_message_id":null}`), strings.Replace(message("x", `{"channel_message_id":"c1"}`), `"message"`, `"custom"`, 1))
	for _, id := range []string{"c1", ""} {
		if _, err := operator.WithReaction(es, id, "👍"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
