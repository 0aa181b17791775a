package operator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

// scalars are values a member may have.
var scalars = []string{`null`, `1.0`, `1e400`, `-0`, `"a"`, `"high"`, `"\ud800"`, `""`, `[]`, `{}`, `[{"type":"text","content":"x"}]`, `{"role":"user"}`, "\"\xff\""}

var (
	types   = []string{"message", "thinking_level_change", "model_change", "compaction", "branch_summary", "label", "leaf", "custom", "custom_message", "session_info", "channel"}
	someIDs = []string{"", "a", "b", "c", "d", "e", "f"}
)

// anyLine draws a line: mostly an entry, now and then something else.
func anyLine() *rapid.Generator[string] {
	members := []string{"timestamp", "target_id", "label", "thinking_level", "first_kept_entry_id", "summary", "from_id", "content", "custom_type", "name", "model_id", "provider_id", "message"}
	odd := []string{"", " ", "\r", "{", "null", "[]", "{}", "{}x", "\u2028", "\xff", "{\"a\":\"\u2028\"} ", "\ufeff", header}
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom(odd).Draw(t, "line")
		}
		b := fmt.Sprintf(`{"type":%q`, rapid.SampledFrom(append(types, "session", "x")).Draw(t, "type"))
		for _, name := range []string{"id", "parent_id"} {
			if id := rapid.SampledFrom(someIDs).Draw(t, name); id != "" {
				b += fmt.Sprintf(`,%q:%q`, name, id)
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			id := rapid.Map(rapid.SampledFrom(someIDs), func(s string) string { return `"` + s + `"` })
			value := rapid.OneOf(rapid.SampledFrom(scalars), id).Draw(t, "value")
			b += fmt.Sprintf(`,%q:%s`, rapid.SampledFrom(members).Draw(t, "name"), value)
		}
		return b + "}"
	})
}

// anyFile draws a file that begins like a session.
func anyFile(t *rapid.T) []byte {
	kind := rapid.SampledFrom([]string{"session", "session_header"}).Draw(t, "kind")
	version := rapid.SampledFrom([]string{"", `,"version":3`, `,"version":"x"`}).Draw(t, "version")
	lines := []string{`{"type":"` + kind + `","id":"s"` + version + `,"cwd":"/","timestamp":5.5}`}
	lines = append(lines, rapid.SliceOfN(anyLine(), 0, 14).Draw(t, "lines")...)
	return []byte(strings.Join(lines, "\n") + rapid.SampledFrom([]string{"\n", ""}).Draw(t, "end"))
}

func TestExactFileRendersAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyFile(t)
		before := bytes.Clone(data)
		f, err := operator.Dialect{}.File(data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, before) {
			t.Fatal("the data was changed")
		}
		checkLines(t, f, data)
		holdTogether(t, f)
	})
}

// checkLines holds that every line of data is in f as it was, or reported.
func checkLines(t rapid.TB, f *core.File, data []byte) {
	whole := core.Lines(f.Header.Before(f.Entries))
	if f.Exact != bytes.Equal(whole, data) {
		t.Fatalf("exact %v, rendered %q", f.Exact, whole)
	}
	lines := bytes.Split(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	if len(f.Entries) != len(f.Lines) {
		t.Fatalf("%d entries, %d lines", len(f.Entries), len(f.Lines))
	}
	for i, n := range f.Lines {
		if !bytes.Equal(f.Entries[i].Line, lines[n-1]) {
			t.Fatalf("entry %d is %q, line %d is %q", i, f.Entries[i].Line, n, lines[n-1])
		}
	}
	again, err := operator.Dialect{}.File(whole)
	if err != nil || !again.Exact || !bytes.Equal(core.Lines(again.Header.Before(again.Entries)), whole) {
		t.Fatalf("%q cannot be read again: %v", whole, err)
	}
}

// holdTogether checks what is true of every session.
func holdTogether(t rapid.TB, f *core.File) {
	d := operator.Dialect{}
	leaves := []core.Leaf{{}, core.NoLeaf}
	var own []string
	for _, e := range f.Entries {
		if e.Type == "session" || e.Type == "session_header" {
			continue
		}
		own = append(own, e.ID)
		if e.ID != "" {
			leaves = append(leaves, core.LeafAt(e.ID))
		}
	}
	for _, leaf := range leaves {
		context, err := d.Context(f.Entries, leaf)
		if err != nil || !json.Valid(context) || !utf8.Valid(context) {
			t.Fatalf("context at %v: %q, %v", leaf, context, err)
		}
		if usable, err := operator.Usable(context); err != nil || !json.Valid(usable) || len(usable) > len(context) {
			t.Fatalf("usable at %v: %q, %v", leaf, usable, err)
		}
		path, err := d.Path(f.Entries, leaf)
		if err != nil || len(path) > len(own) {
			t.Fatalf("path to %v: %d entries of %d, %v", leaf, len(path), len(own), err)
		}
		if id, ok := leaf.ID(); ok && path[len(path)-1].ID != id {
			t.Fatalf("path to %q ends at %q", id, path[len(path)-1].ID)
		}
	}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil || info.EntryCount != len(own) {
		t.Fatalf("%d entries, info says %+v, %v", len(own), info, err)
	}
	if _, err := json.Marshal(info); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, r := range d.Tree(f.Entries) {
		shown = append(shown, r.ID)
	}
	slices.Sort(own)
	slices.Sort(shown)
	if !slices.Equal(own, shown) {
		t.Fatalf("entries %q, in the tree %q", own, shown)
	}
	d.Summary(f.Header, f.Entries)
	checkFileName(t, f.Header)
}

func checkFileName(t rapid.TB, h core.Header) {
	dir, name := operator.Dialect{}.FileName(h)
	if dir != "" || len(name) > 255 || strings.Trim(strings.TrimSuffix(name, ".jsonl"), "_-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" || !strings.HasSuffix(name, ".jsonl") {
		t.Fatalf("%+v: %q, %q", h, dir, name)
	}
}

// TestFileNameIsSafe: OP-36.
func TestFileNameIsSafe(t *testing.T) {
	t.Parallel()
	long := rapid.Map(rapid.SampledFrom([]string{"a", "é", "/", "..", "\x00", "\xff", "日本", ":"}), func(s string) string { return strings.Repeat(s, 300) })
	part := rapid.OneOf(rapid.String(), long, rapid.SampledFrom([]string{"..", ".", "/..", "1e300", "253402300799.9999999", "-62135596800"}))
	names := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		h := core.Header{ID: part.Draw(t, "id"), Time: part.Draw(t, "time"), CWD: part.Draw(t, "cwd")}
		checkFileName(t, h)
		h.Time = ""
		_, name := operator.Dialect{}.FileName(h)
		if id, ok := names[name]; ok && id != h.ID {
			t.Fatalf("%q and %q are both kept at %q", id, h.ID, name)
		}
		names[name] = h.ID
	})
}

func TestFillKeepsTheLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(anyLine().Draw(t, "line"))
		if _, err := (operator.Dialect{}).Entry(line); err != nil {
			return
		}
		first := core.Fields{ID: "i", Parent: core.LeafAt("p"), Time: "2026-01-02T03:04:05.678Z"}
		e, err := operator.Dialect{}.Fill(line, first)
		if err != nil {
			t.Fatal(err)
		}
		end := bytes.LastIndexByte(line, '}')
		if !bytes.HasPrefix(e.Line, line[:end]) || !bytes.HasSuffix(e.Line, line[end:]) {
			t.Fatalf("%q became %q", line, e.Line)
		}
		again, err := operator.Dialect{}.Fill(e.Line, core.Fields{ID: "j", Parent: core.NoLeaf, Time: "5"})
		if err != nil || !bytes.Equal(again.Line, e.Line) {
			t.Fatalf("filled twice: %q, %v", again.Line, err)
		}
		// An append repeated with the time in the log is byte-identical.
		if repeat, err := (operator.Dialect{}).Fill(line, core.Fields{ID: "i", Parent: first.Parent, Time: "1767323045.678"}); err != nil || !bytes.Equal(repeat.Line, e.Line) {
			t.Fatalf("repeated: %q, %v; first %q", repeat.Line, err, e.Line)
		}
	})
}
