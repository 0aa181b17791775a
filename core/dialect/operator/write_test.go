package operator_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

// TestFill: OP-04, OP-21, OP-24.
func TestFill(t *testing.T) {
	t.Parallel()
	const when = "2026-01-02T03:04:05.123Z"
	all := core.Fields{ID: "i", Parent: core.LeafAt("p"), Time: when}
	root := core.Fields{ID: "i", Parent: core.NoLeaf, Time: when}
	for _, c := range []struct {
		name, line string
		f          core.Fields
		want       string
	}{
		{"All", `{"type":"x"}`, all, `{"type":"x","id":"i","timestamp":1767323045.123,"parent_id":"p"}`},
		{"Root", `{"type":"x"}`, root, `{"type":"x","id":"i","timestamp":1767323045.123,"parent_id":null}`},
		{"Compaction", `{"type":"compaction"}`, all, `{"type":"compaction","id":"i","timestamp":1767323045.123,"parent_id":"p","tokens_before":0}`},
		{"CompactionHasTokens", `{"type":"compaction","tokens_before":7}`, core.Fields{Time: when}, `{"type":"compaction","tokens_before":7,"timestamp":1767323045.123}`},
		{"CompactionMoved", `{"type":"compaction"}`, core.Fields{ID: "i"}, `{"type":"compaction","id":"i"}`},
		{"DefaultAddsNoParent", `{"type":"x"}`, core.Fields{ID: "i"}, `{"type":"x","id":"i"}`},
		{"Nothing", `{"type":"x"}`, core.Fields{}, `{"type":"x"}`},
		{"Empty", `{}`, all, `{"id":"i","timestamp":1767323045.123,"parent_id":"p"}`},
		{"EmptyWithSpace", "{ \t}", root, "{ \t" + `"id":"i","timestamp":1767323045.123,"parent_id":null}`},
		{"SpaceBehind", `{"a":1 } ` + "\r", core.Fields{ID: "i"}, `{"a":1 ,"id":"i"} ` + "\r"},
		{"PresentStays", `{"id":"x","timestamp":5}`, all, `{"id":"x","timestamp":5,"parent_id":"p"}`},
		{"NullStays", `{"id":null,"parent_id":null,"timestamp":null}`, all, `{"id":null,"parent_id":null,"timestamp":null}`},
		{"InDisguise", `{"\u0069d":"x","parent_id":"y","timestamp":5}`, all, `{"\u0069d":"x","parent_id":"y","timestamp":5}`},
		{"NotPis", `{"parentId":"y"}`, core.Fields{Parent: core.LeafAt("p")}, `{"parentId":"y","parent_id":"p"}`},
		{"Escaped", `{}`, core.Fields{ID: "a\"\n<\xff"}, `{"id":"a\"\n<` + "\ufffd" + `"}`},

		{"WholeSecond", `{}`, core.Fields{Time: "2026-01-02T03:04:05.000Z"}, `{"timestamp":1767323045.0}`},
		{"Microseconds", `{}`, core.Fields{Time: "2026-01-02T03:04:05.123456Z"}, `{"timestamp":1767323045.123456}`},
		{"WithAnOffset", `{}`, core.Fields{Time: "2026-01-02T05:04:05+02:00"}, `{"timestamp":1767323045.0}`},
		{"BeforeTheEpoch", `{}`, core.Fields{Time: "1969-12-31T23:59:58.5Z"}, `{"timestamp":-1.5}`},
		{"ANumberAsItWas", `{}`, core.Fields{Time: "1767312011.7210070"}, `{"timestamp":1767312011.7210070}`},
		{"ANumberOutOfRange", `{}`, core.Fields{Time: "1e400"}, `{"timestamp":1e400}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := []byte(c.line)
			e, err := operator.Dialect{}.Fill(line, c.f)
			if err != nil || string(e.Line) != c.want || string(line) != c.line {
				t.Fatalf("%s, %v; want %s", e.Line, err, c.want)
			}
			again, err := operator.Dialect{}.Entry(e.Line)
			if err != nil || again.ID != e.ID || again.Parent != e.Parent || again.Time != e.Time {
				t.Errorf("filled %+v, read %+v, %v", e, again, err)
			}
		})
	}
	for _, bad := range []string{"", "[]", "{", "{}\n{}"} {
		if _, err := (operator.Dialect{}).Fill([]byte(bad), all); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Fill(%q): %v", bad, err)
		}
	}
	for _, bad := range []string{"yesterday", "05", "+5", ".5", "5 ", "5\n", "0x1p3", "Inf", "NaN", "2026-01-02"} {
		if e, err := (operator.Dialect{}).Fill([]byte("{}"), core.Fields{Time: bad}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("time %q: %s, %v", bad, e.Line, err)
		}
	}
}

// TestNewLines: OP-02, OP-09, OP-12.
func TestNewLines(t *testing.T) {
	t.Parallel()
	d := operator.Dialect{}
	for _, c := range []struct{ name, got, want string }{
		{
			"Header", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "2026-01-02T03:04:05.123Z", CWD: `C:\x<y>`})),
			`{"type":"session","version":3,"id":"i","timestamp":1767323045.123,"cwd":"C:\\x<y>"}`,
		},
		{
			"HeaderWithParent", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "5.0", CWD: "/", Parent: "/p.jsonl"})),
			`{"type":"session","version":3,"id":"i","timestamp":5.0,"cwd":"/","parent_session":"/p.jsonl"}`,
		},
		{"HeaderWithoutTime", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "now"})), `{"type":"session","version":3,"id":"i","cwd":""}`},
		{"Label", string(d.NewLabel("t", "a\u2028\"")), `{"type":"label","label":"a\u2028\"","target_id":"t"}`},
		{"NoLabel", string(d.NewLabel("t", "")), `{"type":"label","target_id":"t"}`},
		{"Name", string(d.NewName(" a name ")), `{"type":"session_info","name":" a name "}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
		if err := operator.Check([]byte(c.got)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	made := d.NewHeader(core.HeaderFields{ID: "s", Time: "2026-01-02T03:04:05.000Z", CWD: "/w"})
	if !d.Detect(made) {
		t.Errorf("%s is not detected", made)
	}
}
