package openrath_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
)

// RATH-41, RATH-43
func TestFileSkipsBadLines(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, data string
		skipped    []int
		exact      bool
	}{
		{"whole", string(whole()), nil, true},
		{"carriage returns", strings.ReplaceAll(string(whole()), "\n", "\r\n"), nil, true},
		{"a byte order mark", "\uFEFF" + string(whole()), nil, false},
		{"blank lines", "\n" + strings.ReplaceAll(string(whole()), "\n", "\n \n"), nil, false},
		{"an unfinished line", string(whole()) + done, []int{8}, false},
		{"a second header", string(whole()) + header + "\n", []int{8}, false},
		{"a chunk before the header", user + "\n" + string(whole()), []int{1}, false},
		{"a bad line", string(whole()) + "{bad\n[]\n\xff\n" + `{"x":1}` + "\n", []int{8, 9, 10, 11}, false},
		{"bad chunks", string(whole()) + strings.Replace(user, "user", "human", 1) + "\n" + strings.Replace(user, `{"content": "go \u00e9"}`, "[]", 1) + "\n", []int{8, 9}, false},
		{"an early trailer", string(text(header, system, trailer, user, calls, result, done, trailer)), nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := read(t, []byte(row.data))
			var lines []int
			for _, s := range f.Skipped {
				lines = append(lines, s.Line)
			}
			testkit.Equal(t, "skipped", row.skipped, lines)
			testkit.Equal(t, "exact", row.exact, f.Exact)
			again := core.Lines(openrath.Dialect{}.Layout(f.Header, f.Entries))
			if l := load(t, again); l.Rows.Len() != 5 || !l.Closed {
				t.Errorf("loads with %d rows, closed %v", l.Rows.Len(), l.Closed)
			}
		})
	}
}

// RATH-41
func TestLinesEndOnlyAtNewlines(t *testing.T) {
	t.Parallel()
	odd := "a\u2028b\u2029c\u0085d"
	l := load(t, text(header, `{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "`+odd+`"}}`))
	testkit.Equal(t, "content", odd, l.Rows.At(0).Content())
	testkit.Equal(t, "closed", false, l.Closed)
}

// RATH-41, RATH-42
func TestLoadNamesFileLineAndReason(t *testing.T) {
	t.Parallel()
	in := func(old, with string) string { return strings.Replace(header, old, with, 1) }
	for _, row := range []struct{ data, want string }{
		{string(text(header, "{bad")), "f.jsonl:2: invalid JSON"},
		{string(text(header, "[]")), "f.jsonl:2: record must be a JSON object"},
		{string(text(header, header)), "f.jsonl:2: duplicate header record"},
		{string(text(user)), "f.jsonl:1: chunk record before header"},
		{string(text(header, `{"record_type": "x"}`)), `f.jsonl:2: unknown record_type="x"`},
		{string(text(header, `{}`)), `f.jsonl:2: unknown record_type=`},
		{string(text(header, strings.Replace(user, `"user"`, `"x"`, 1))), `f.jsonl:2: invalid chunk kind "x"`},
		{string(text(header, `{"record_type": "chunk", "kind": "user", "payload": 5}`)), "f.jsonl:2: chunk payload must be a JSON object"},
		{string(text(in(`"id": "`+idA+`", `, ""))), "f.jsonl:1: malformed header record"},
		{string(text(in(`2026-01-02T`, "soon"))), "f.jsonl:1: malformed header record"},
		{string(text(in(idA, "../x"))), "f.jsonl: malformed header record"},
		{string(text(in(`"schema_version": 1`, `"schema_version": 2`))), "f.jsonl:1: persisted file declares schema_version=2 which is newer"},
		{string(text(in(`"schema_version": 1, `, ``))), "f.jsonl:1: no header migrator registered for schema_version=0"},
		{"", "f.jsonl: no header record found"},
		{header, "f.jsonl: no header record found"},
	} {
		_, err := openrath.Dialect{}.Load("f.jsonl", []byte(row.data))
		if !errors.Is(err, core.ErrInvalid) || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("want %q, got %v", row.want, err)
		}
	}
	if l := load(t, text(in(`"schema_version": 1`, `"schema_version": "1"`))); l.ID != idA {
		t.Error("a version in quotes is one")
	}
	if _, err := (openrath.Dialect{}).LoadEither("f.jsonl", nil, nil); !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), "f.jsonl") {
		t.Errorf("a missing file: %v", err)
	}
}

// RATH-41
func TestLoadFallsBackToThePartialFile(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	part := text(header, system)
	a, err := d.LoadEither("f.jsonl", whole(), part)
	b, err2 := d.LoadEither("f.jsonl", nil, part)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	testkit.Equal(t, "final", []any{"f.jsonl", 5, true}, []any{a.Path, a.Rows.Len(), a.Closed})
	testkit.Equal(t, "partial", []any{"f.jsonl.__partial__", 1, false}, []any{b.Path, b.Rows.Len(), b.Closed})
}

// RATH-43
func TestHeaderIsLenient(t *testing.T) {
	t.Parallel()
	l := load(t, text(`{"record_type": "header", "schema_version": 1, "id": "`+idA+`", "created_at": "2026-01-02T03:04:05", "parent_session_ids": ["x", 5, "`+idB+`"], "lineage_kind": "op_magic", "lineage_extras": [["a", 1], ["b"], 7, [1, 2]]}`))
	testkit.Equal(t, "parents", []string{idB}, l.Parents)
	testkit.Equal(t, "kind", openrath.LineageUnknown, l.Kind)
	testkit.Equal(t, "operator", "implicit", l.Operator)
	testkit.Equal(t, "extras", []openrath.Extra{{Key: "a", Value: json.RawMessage("1")}}, l.Extras)
	testkit.Equal(t, "sandbox", openrath.Sandbox{}, l.Sandbox)
}

// RATH-34
func TestHeaderLineage(t *testing.T) {
	t.Parallel()
	for kind, word := range map[string]string{
		"unknown": "", "leaf_user": "create", "leaf_system": "create", "op_create": "create", "op_session_loop": "loop",
		"op_fork": "fork", "op_detach": "detach", "op_merge": "merge", "op_session_compress": "compress",
	} {
		line := strings.Replace(header, `"lineage_kind": "unknown"`, `"lineage_kind": "`+kind+`"`, 1)
		line = strings.Replace(line, `"parent_session_ids": []`, `"parent_session_ids": ["`+idB+`", "`+idC+`"]`, 1)
		line = strings.Replace(line, `"sandbox_spec": null`, `"sandbox_spec": {"working_dir": "/w"}`, 1)
		h, err := openrath.Dialect{}.Header([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, kind, []any{word, []string{idB, idC}, "/w", idA}, []any{h.Lineage, h.Parents, h.CWD, h.ID})
	}
}

// OpenRath reads an id in any spelling of a UUID and writes it in one, by which the log
// finds the session and its children.
func TestUUIDsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	const id = "9356fbc6-f1c8-4d73-8fb4-61f81bd67c3c"
	for _, written := range []string{id, strings.ToUpper(id), "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", "")} {
		line := strings.Replace(header, idA, written, 1)
		line = strings.Replace(line, `"parent_session_ids": []`, `"parent_session_ids": ["`+written+`"]`, 1)
		h, err := openrath.Dialect{}.Header([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, written, []any{id, []string{id}, line}, []any{h.ID, h.Parents, string(h.Line)})
		testkit.Equal(t, written, id, load(t, text(line)).ID)
		if err := (openrath.Dialect{}).CheckHeader(h); (err == nil) != (written == id) || err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("a new session with the id %s: %v", written, err)
		}
	}
}

func TestAppendedChunksHaveAnIndexOrNone(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	for index, good := range map[string]bool{"": true, "0": true, "12": true, "-1": false, `"3"`: false, "1.5": false, "null": false, "1e9": false} {
		line := bare
		if index != "" {
			line = strings.Replace(bare, `"kind"`, `"index": `+index+`, "kind"`, 1)
		}
		e, err := d.Entry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Admit(core.Admission{}, e); (err == nil) != good || err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("index %s: %v", index, err)
		}
	}
}

// RATH-44
func TestMigrations(t *testing.T) {
	t.Parallel()
	rename := func(old, with string) openrath.Migration {
		return func(r json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(r, []byte(old), []byte(with), 1), nil
		}
	}
	var none *openrath.Migrations
	m, err := none.WithHeader(0, rename(`"session"`, `"id"`))
	if err == nil {
		m, err = m.WithChunk(0, rename(`"human"`, `"user"`))
	}
	if err != nil {
		t.Fatal(err)
	}
	data := text(`{"record_type": "header", "session": "`+idA+`", "created_at": "2026-01-02"}`, `{"record_type": "chunk", "kind": "human", "payload": {"content": "hi"}}`)
	d := openrath.Dialect{Migrations: m}
	f, err := d.File(data)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "version", []any{"0", false, 0}, []any{f.Version, f.Exact, len(f.Skipped)})
	again := load(t, core.Lines(d.Layout(f.Header, f.Entries)))
	testkit.Equal(t, "row", "hi", again.Rows.At(0).Content())

	if _, err := (openrath.Dialect{}).File(data); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("without migrations: %v", err)
	}
	if _, err := m.WithHeader(openrath.Version, rename("", "")); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("from the current version: %v", err)
	}
	if _, err := m.WithChunk(openrath.Version+1, rename("", "")); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("from a newer version: %v", err)
	}
	gap, _ := none.WithHeader(-1, rename("", ""))
	_, err = openrath.Dialect{Migrations: gap}.File(bytes.Replace(whole(), []byte(`"schema_version": 1`), []byte(`"schema_version": -1`), 1))
	if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "schema_version=0") {
		t.Errorf("a gap: %v", err)
	}
	chunksToo, _ := none.WithHeader(-1, rename("", ""))
	chunksToo, _ = chunksToo.WithHeader(0, rename("", ""))
	f, err = openrath.Dialect{Migrations: chunksToo}.File(bytes.Replace(whole(), []byte(`"schema_version": 1`), []byte(`"schema_version": -1`), 1))
	if err != nil || len(f.Entries) != 6 {
		t.Errorf("chunks without migrations: %v", err)
	}
	if _, err := d.File(bytes.Replace(whole(), []byte(`"schema_version": 1`), []byte(`"schema_version": 2`), 1)); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a newer version: %v", err)
	}
}

// RATH-37, RATH-38, RATH-40
func TestFileNameStaysInDirectory(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{idA: idA, "{" + strings.ToUpper(idA) + "}": idA, "../../victim": "", "a/b": "", "": ""} {
		dir, name := openrath.Dialect{}.FileName(core.Header{ID: id})
		if dir != "" || strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") || want != "" && name != want+".jsonl" {
			t.Errorf("%q is %q in %q", id, name, dir)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add(whole())
	f.Add(text("\ufeff"+header, header, trailer, `{"record_type":"chunk","index":1e9,"kind":"assistant","payload":{"tool_calls":[{},1,{"function":[]}],"content":[]}}`, trailer))
	f.Add(text(header, `{"record_type":"chunk","index":0,"kind":"assistant","payload":{}}`, trailer))
	f.Add([]byte(`{"record_type":"header","schema_version":true,"id":"x","created_at":"2026-01-02","sandbox_spec":{"working_dir":1},"lineage_extras":[[]]}` + "\r\n\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := openrath.Dialect{}
		_, _ = d.Load("f", data)
		file, err := d.File(data)
		if err != nil {
			return
		}
		whole := core.Lines(d.Layout(file.Header, file.Entries))
		again, err := d.File(whole)
		if err != nil || !again.Exact || len(again.Entries) > len(file.Entries) {
			t.Fatalf("its layout is read as %v, %v", again, err)
		}
		for _, leaf := range []core.Leaf{{}, core.NoLeaf, d.Leaf(file.Entries)} {
			context, err := d.Context(file.Entries, leaf)
			if err != nil || !json.Valid(context) {
				t.Fatalf("context %q, %v", context, err)
			}
			if info, err := d.Info(file.Header, file.Entries, leaf); err != nil || !json.Valid(info.Own) {
				t.Fatalf("own %q, %v", info.Own, err)
			}
		}
		d.Summary(file.Header, file.Entries)
		d.Tree(file.Entries)
		for _, e := range file.Entries {
			for _, it := range d.Read(e) {
				line, lost := d.Write(it)
				if line == nil && lost != nil {
					continue // an answer without text and calls
				}
				if _, err := d.Entry(line); err != nil {
					t.Fatalf("written %q, %v lost: %v", line, lost, err)
				}
			}
		}
	})
}

// RATH-58
func TestLoadedHasItsTrailer(t *testing.T) {
	t.Parallel()
	l, err := openrath.Dialect{}.Load("f.jsonl", whole())
	if err != nil || l.Path != "f.jsonl" || string(l.Trailer) != trailer {
		t.Errorf("path %q, trailer %s, %v", l.Path, l.Trailer, err)
	}
	if l := load(t, text(header, system)); l.Trailer != nil {
		t.Errorf("an open session has the trailer %s", l.Trailer)
	}
}
