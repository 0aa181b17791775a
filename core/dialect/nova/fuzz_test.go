package nova_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
)

// FuzzLines takes any lines for a session: what is made of them is JSON that is
// read again, and neither panics nor depends on the lines that are no change.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"type":"begin","id":"a","session_id":"abcdefgh","created_at":"x"}` + "\n" + `{"type":"task","decision":{"decision":"D","x":{"y":1}}}`))
	f.Add([]byte(`{"type":"state","id":"b","state":` + plain + `}` + "\n" + `{"type":"compress","max_decisions":-1}` + "\n" + `{"type":"update","tags":["a"]}`))
	f.Add([]byte(`{"type":"state","text":"{}"}` + "\n" + `{"type":"begin","session_id":"other-id"}` + "\n" + `{"type":"label","target":"a","label":"` + "\xff" + `"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := nova.Dialect{}
		h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: later}))
		if err != nil {
			t.Fatal(err)
		}
		var es []core.Entry
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if e, err := d.Entry(line); err == nil {
				es = append(es, e)
			}
		}
		for _, e := range es {
			for _, it := range d.Read(e) {
				if line, _ := d.Write(it); line != nil && !json.Valid(line) {
					t.Errorf("%+v is written as %q", it, line)
				}
			}
		}
		s := nova.Fold(h, es)
		if s.SessionID != id {
			t.Errorf("the session is %q", s.SessionID)
		}
		file, err := d.File(core.Lines(d.Layout(h, es)))
		if err != nil {
			t.Fatalf("%v: %s", err, core.Lines(d.Layout(h, es)))
		}
		if again := nova.Fold(file.Header, file.Entries); !bytes.Equal(again.Dict(), s.Dict()) {
			t.Errorf("%s\n%s", s.Dict(), again.Dict())
		}
		info, err := d.Info(h, es, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, err := d.Context(es, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{info, ctx, d.Summary(h, es), d.Tree(es)} {
			if _, err := json.Marshal(v); err != nil {
				t.Error(err)
			}
		}
	})
}
