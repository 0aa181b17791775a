package reader_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/format/reader"
)

const (
	origin = `{"dialect":"pi"}`
	header = `{"type":"session","version":3,"id":"hello-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me/site"}`
)

// The reader is evidence only as long as it shares no code with the programs.
func TestReaderImportsNothingOfTheProject(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			host, _, _ := strings.Cut(path, "/")
			self := strings.HasSuffix(name, "_test.go") && path == "github.com/sesslog/sesslog/test/format/reader"
			if strings.Contains(host, ".") && path != "github.com/klauspost/compress/zstd" && !self {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, got, want string }{
		{"session id", reader.SessionID("pi", "hello-2026"), "hello-2026"},
		{"hashed session id", reader.SessionID("pi", "my session"), "x-c6f1f4d700e4fffefc98e03248a0ee30"},
		{"shard", fmt.Sprint(reader.Shard("hello-2026", 4)), "0"},
		{"line id of pi", reader.LineID("pi", "hello-2026", "turn-17", 0), "a350b0d8"},
		{"line id of nova", reader.LineID("nova", "hello-2026", "turn-17", 0), "a350b0d8b86bd723"},
		{
			"line id of openrath",
			reader.LineID("openrath", "001d9a88-096d-4737-82f9-a039c320a473", "turn-17", 0), "5ac738a7-0e06-41f7-8ce9-d9f20da4cedd",
		},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

// A log is a session's records as a test makes them.
type log struct {
	records []*reader.Record
	pos     uint64
}

// add stores a record of that kind after prev, a stream sequence.
func (l *log) add(kind, body string, prev uint64) *reader.Record {
	r := &reader.Record{Kind: kind, Seq: 1, Head: "main", Writer: "w", Body: []byte(body), Expected: prev, Base: 1}
	chain := reader.FirstChain("main", "hello-2026")
	for _, before := range l.records {
		if before.Pos == prev {
			r.Seq, chain = before.Seq+1, before.Chain
		}
	}
	l.pos++
	r.Chain, r.Pos = reader.NextChain(chain, r), l.pos
	l.records = append(l.records, r)
	return r
}

func line(id string) string { return fmt.Sprintf(`{"type":"message","id":%q}`, id) }

func TestOrphansAreSkippedAndHolesRefused(t *testing.T) {
	t.Parallel()
	var l log
	l.add("open", origin+"\n"+header, 0)
	l.add("append", line("a"), 1)
	// The log lost a record here, and then a writer that knew it came with the
	// next one: it names the place of the last record and has another chain.
	orphan := l.add("append", line("lost"), 2)
	orphan.Chain[0] ^= 1
	orphan.Seq++
	next := l.add("append", line("b"), 2)
	next.Expected = orphan.Pos
	s, err := reader.Read("main", "hello-2026", l.records, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{header, line("a"), line("b"), ""}, "\n")
	if got := string(s.Canonical()); got != want || len(s.Orphans) != 1 {
		t.Errorf("%d orphans, and\n%s", len(s.Orphans), got)
	}

	l.records = append(l.records[:1:1], l.records[2:]...) // without record 2
	if s, err := reader.Read("main", "hello-2026", l.records, nil); err == nil {
		t.Errorf("a session with a hole was read up to record %d", s.Seq)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	var l log
	l.add("open", origin+"\n"+header+"\n"+line("a"), 0)
	steps := []struct{ kind, body string }{
		{"append", line("b") + "\n" + line("a") + "\n" + `{"type":"custom"}`},
		{"amend", `{"type":"message","id":"a","n":1}` + "\n" + `{"type":"message","id":"a","n":2}`},
		{"frobnicate", "anything"},
		{"close", `{"why":"done"}`},
		{"redact", `{"by":"ada"}` + "\n" + `{"type":"message","id":"b","n":3}`},
	}
	for _, step := range steps {
		l.add(step.kind, step.body, l.pos)
	}
	s, err := reader.Read("main", "hello-2026", l.records, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		header, line("a"), `{"type":"message","id":"b","n":3}`, `{"type":"message","id":"a","n":2}`, `{"type":"custom"}`, "",
	}, "\n")
	if got := string(s.Canonical()); got != want {
		t.Errorf("the lines are\n%s", got)
	}
	if s.Unknown != "frobnicate" || s.Closed == nil || !s.Redacted["b"] || s.Heads["main"].Leaf != (reader.Leaf{}) {
		t.Errorf("the state is %+v", s)
	}
}
