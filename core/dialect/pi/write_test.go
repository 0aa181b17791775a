package pi_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// PI-04, PI-16
func TestFill(t *testing.T) {
	t.Parallel()
	all := core.Fields{ID: "i", Parent: core.LeafAt("p"), Time: "T"}
	root := core.Fields{ID: "i", Parent: core.NoLeaf, Time: "T"}
	for _, c := range []struct {
		name, line string
		f          core.Fields
		want       string
	}{
		{"All", `{"type":"x"}`, all, `{"type":"x","id":"i","parentId":"p","timestamp":"T"}`},
		{"Root", `{"type":"x"}`, root, `{"type":"x","id":"i","parentId":null,"timestamp":"T"}`},
		{"DefaultAddsNoParent", `{"type":"x"}`, core.Fields{ID: "i"}, `{"type":"x","id":"i"}`},
		{"Nothing", `{"type":"x"}`, core.Fields{}, `{"type":"x"}`},
		{"Empty", `{}`, all, `{"id":"i","parentId":"p","timestamp":"T"}`},
		{"EmptyWithSpace", "{ \t}", root, "{ \t" + `"id":"i","parentId":null,"timestamp":"T"}`},
		{"SpaceBehind", `{"a":1 } ` + "\r", all, `{"a":1 ,"id":"i","parentId":"p","timestamp":"T"} ` + "\r"},
		{"PresentStays", `{"id":"x","timestamp":"t"}`, all, `{"id":"x","timestamp":"t","parentId":"p"}`},
		{"NullStays", `{"id":null,"parentId":null,"timestamp":null}`, all, `{"id":null,"parentId":null,"timestamp":null}`},
		{"InDisguise", `{"\u0069d":"x","parentId":"y","timestamp":"t"}`, all, `{"\u0069d":"x","parentId":"y","timestamp":"t"}`},
		{"NotInside", `{"m":{"id":"x"}}`, core.Fields{ID: "i"}, `{"m":{"id":"x"},"id":"i"}`},
		{"BraceInText", `{"m":"{"}`, core.Fields{ID: "i"}, `{"m":"{","id":"i"}`},
		{"Escaped", `{}`, core.Fields{ID: "a\"\n<\xff"}, `{"id":"a\"\n<` + "\ufffd" + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := []byte(c.line)
			e, err := pi.Dialect{}.Fill(line, c.f)
			if err != nil || string(e.Line) != c.want || string(line) != c.line {
				t.Fatalf("%s, %v; want %s", e.Line, err, c.want)
			}
			again, err := pi.Dialect{}.Entry(e.Line)
			if err != nil || again.ID != e.ID || again.Parent != e.Parent || again.Time != e.Time {
				t.Errorf("filled %+v, read %+v, %v", e, again, err)
			}
		})
	}
	for _, bad := range []string{"", "[]", "{", "{}\n{}"} {
		if _, err := (pi.Dialect{}).Fill([]byte(bad), all); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Fill(%q): %v", bad, err)
		}
	}
}

// PI-02, PI-03, PI-12, PI-13: lines that are made here.
func TestNewLines(t *testing.T) {
	t.Parallel()
	d := pi.Dialect{}
	for _, c := range []struct{ name, got, want string }{
		{
			"Header", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "T", CWD: `C:\x<y>`})),
			`{"type":"session","version":3,"id":"i","timestamp":"T","cwd":"C:\\x<y>"}`,
		},
		{
			"HeaderWithParent", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "T", CWD: "/", Parent: "/p.jsonl"})),
			`{"type":"session","version":3,"id":"i","timestamp":"T","cwd":"/","parentSession":"/p.jsonl"}`,
		},
		{"Label", string(d.NewLabel("t", "a\u2028\"")), `{"type":"label","targetId":"t","label":"a` + "\u2028" + `\""}`},
		{"NoLabel", string(d.NewLabel("t", "")), `{"type":"label","targetId":"t"}`},
		{"Name", string(d.NewName("a name")), `{"type":"session_info","name":"a name"}`},
		{"NameTrimmed", string(d.NewName(" \ufeff\tname\u00a0\n")), `{"type":"session_info","name":"name"}`},
		{"NameOnOneLine", string(d.NewName("a\r\n\r\nb\nc \n d")), `{"type":"session_info","name":"a b c   d"}`},
		{"NameCleared", string(d.NewName("\n")), `{"type":"session_info","name":""}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// PI-38: every line that a file gets is one JSON object with a type.
func TestEveryLineIsOneObjectWithAType(t *testing.T) {
	t.Parallel()
	d := pi.Dialect{}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "i", Time: "T", CWD: "/a\nb"}))
	if err != nil {
		t.Fatal(err)
	}
	var es []core.Entry
	for _, line := range [][]byte{d.NewLabel("t", "a\nb"), d.NewLabel("t", ""), d.NewName("a\nb"), []byte(hello)} {
		e, err := d.Fill(line, core.Fields{ID: "x", Parent: core.NoLeaf, Time: "T\n"})
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	n := 0
	for line := range strings.Lines(string(core.Lines(d.Layout(h, es)))) {
		var o struct{ Type string }
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Type == "" {
			t.Errorf("%q: %v", line, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d lines", n)
	}
}
