package pi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// scalars are values a member may have.
var scalars = []string{`null`, `1.0`, `1e400`, `-0`, `"a"`, `"\ud800"`, `""`, `[]`, `{}`, `{"1":1,"a":2,"a":3}`, `{"content":"x"}`, `{"role":"user"}`, "\"\xff\""}

// anyLine draws a line: mostly an entry, now and then something else.
func anyLine(ids []string) *rapid.Generator[string] {
	types := []string{"message", "compaction", "context_edit", "label", "session_info", "usage", "branch_summary", "custom_message", "model_change", "session", "x"}
	members := []string{"timestamp", "targetId", "label", "replacement", "firstKeptEntryId", "firstKeptEntryIndex", "summary", "systemMessage", "content", "name", "usage"}
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]string{"", " ", "\r", "{", "null", "[]", "{}", "{}x", "\u2028", "\xff", "{\"a\":\"\u2028\"} ", "\ufeff"}).Draw(t, "line")
		}
		b := fmt.Sprintf(`{"type":%q`, rapid.SampledFrom(types).Draw(t, "type"))
		for _, name := range []string{"id", "parentId"} {
			if id := rapid.SampledFrom(ids).Draw(t, name); id != "" {
				b += fmt.Sprintf(`,%q:%q`, name, id)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			value := rapid.OneOf(rapid.SampledFrom(scalars), rapid.Map(rapid.SampledFrom(ids), quoted)).Draw(t, "value")
			b += fmt.Sprintf(`,%q:%s`, rapid.SampledFrom(members).Draw(t, "name"), value)
		}
		role := rapid.SampledFrom([]string{"user", "assistant", "system", "hookMessage", "toolResult"}).Draw(t, "role")
		return b + fmt.Sprintf(`,"message":{"role":%q,"content":%s}}`, role, rapid.SampledFrom(scalars).Draw(t, "content"))
	})
}

// anyFile draws a file that begins like a session.
func anyFile(t *rapid.T) []byte {
	version := rapid.SampledFrom([]string{"", `,"version":2`, `,"version":3`, `,"version":3`, `,"version":"x"`}).Draw(t, "version")
	lines := []string{`{"type":"session","id":"s"` + version + `,"cwd":"/"}`}
	ids := []string{"", "a", "b", "c", "d", "e", "f"}
	lines = append(lines, rapid.SliceOfN(anyLine(ids), 0, 12).Draw(t, "lines")...)
	return []byte(strings.Join(lines, "\n") + rapid.SampledFrom([]string{"\n", ""}).Draw(t, "end"))
}

func TestExactFileRendersAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyFile(t)
		before := bytes.Clone(data)
		f, err := pi.Dialect{}.File(data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, before) {
			t.Fatal("the data was changed")
		}
		if whole := core.Lines(f.Header.Before(f.Entries)); f.Exact && !bytes.Equal(whole, data) {
			t.Fatalf("exact, but not %q", whole)
		}
		if len(f.Entries) != len(f.Lines) {
			t.Fatalf("%d entries, %d lines", len(f.Entries), len(f.Lines))
		}
	})
}

func TestMigrationIsDeterministicAndIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyFile(t)
		first, err := pi.Dialect{}.File(data)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := pi.Dialect{}.File(data)
		whole := core.Lines(first.Header.Before(first.Entries))
		if !bytes.Equal(whole, core.Lines(second.Header.Before(second.Entries))) {
			t.Fatal("two readings, two results")
		}
		again, err := pi.Dialect{}.File(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := core.Lines(again.Header.Before(again.Entries)); !bytes.Equal(got, whole) {
			t.Fatalf("what was migrated to\n%s\nis migrated to\n%s", whole, got)
		}
	})
}

func TestFillKeepsTheLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(anyLine([]string{"", "a", "b"}).Draw(t, "line"))
		if _, err := (pi.Dialect{}).Entry(line); err != nil {
			return
		}
		e, err := pi.Dialect{}.Fill(line, core.Fields{ID: "i", Parent: core.LeafAt("p"), Time: "T"})
		if err != nil {
			t.Fatal(err)
		}
		end := bytes.LastIndexByte(line, '}')
		if !bytes.HasPrefix(e.Line, line[:end]) || !bytes.HasSuffix(e.Line, line[end:]) {
			t.Fatalf("%q became %q", line, e.Line)
		}
		again, err := pi.Dialect{}.Fill(e.Line, core.Fields{ID: "j", Parent: core.NoLeaf, Time: "U"})
		if err != nil || !bytes.Equal(again.Line, e.Line) {
			t.Fatalf("filled twice: %q, %v", again.Line, err)
		}
	})
}

func TestReadingIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, err := pi.Dialect{}.File(anyFile(t))
		if err != nil {
			t.Fatal(err)
		}
		holdTogether(t, f)
	})
}

// holdTogether checks what is true of every session.
func holdTogether(t rapid.TB, f *core.File) {
	d := pi.Dialect{}
	own := 0
	leaves := []core.Leaf{{}, core.NoLeaf}
	for _, e := range f.Entries {
		if e.Type == "session" {
			continue
		}
		own++
		if e.ID != "" {
			leaves = append(leaves, core.LeafAt(e.ID))
		}
	}
	for _, leaf := range leaves {
		context, err := d.Context(f.Entries, leaf)
		if err != nil || !json.Valid(context) || !utf8.Valid(context) {
			t.Fatalf("context at %v: %q, %v", leaf, context, err)
		}
		path, err := d.Path(f.Entries, leaf)
		if err != nil || len(path) > own {
			t.Fatalf("path to %v: %d entries of %d, %v", leaf, len(path), own, err)
		}
		if id, ok := leaf.ID(); ok && path[len(path)-1].ID != id {
			t.Fatalf("path to %q ends at %q", id, path[len(path)-1].ID)
		}
	}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil || info.EntryCount != own {
		t.Fatalf("%d entries, info says %+v, %v", own, info, err)
	}
	if _, err := json.Marshal(info); err != nil {
		t.Fatal(err)
	}
	rows := d.Tree(f.Entries)
	shown := map[string]bool{}
	for _, r := range rows {
		shown[r.ID] = true
	}
	for _, e := range f.Entries {
		if e.Type != "session" && !shown[e.ID] {
			t.Fatalf("entry %q is not in the tree", e.ID)
		}
	}
	if len(rows) > 5*own+16 {
		t.Fatalf("%d entries, %d rows", own, len(rows))
	}
	d.Summary(f.Header, f.Entries)
	dir, name := d.FileName(f.Header)
	for _, s := range []string{dir, name} {
		if s == "" || s == "." || s == ".." || len(s) > 255 || strings.ContainsAny(s, "/\\\x00") || !utf8.ValidString(s) {
			t.Fatalf("file name %q", s)
		}
	}
}

func TestFileNameIsSafe(t *testing.T) {
	t.Parallel()
	long := rapid.Map(rapid.SampledFrom([]string{"a", "é", "/", "..", "\x00", "\xff", "日本", ":"}), func(s string) string { return strings.Repeat(s, 300) })
	part := rapid.OneOf(rapid.String(), long, rapid.SampledFrom([]string{"..", ".", "/..", "/../..", "a/..", `\..\`}))
	rapid.Check(t, func(t *rapid.T) {
		h := core.Header{ID: part.Draw(t, "id"), Time: part.Draw(t, "time"), CWD: part.Draw(t, "cwd")}
		dir, name := pi.Dialect{}.FileName(h)
		for _, s := range []string{dir, name} {
			if s == "." || s == ".." || len(s) > 255 || strings.ContainsAny(s, "/\\\x00") || !utf8.ValidString(s) {
				t.Fatalf("%+v: %q", h, s)
			}
		}
		if strings.Contains(name, "..") || !strings.HasSuffix(name, ".jsonl") {
			t.Fatalf("%+v: %q", h, name)
		}
	})
}
