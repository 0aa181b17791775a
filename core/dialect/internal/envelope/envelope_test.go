package envelope

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
)

// pack stores the lines of text in envelopes, as a dialect would.
func pack(w *Writer, path string, text []byte) []core.Entry {
	var es []core.Entry
	lines := bytes.Split(text, []byte("\n"))
	last := len(lines) - 1
	for i, line := range lines {
		if i < last || len(line) > 0 {
			es = append(es, w.Line(Piece{Path: path, Bytes: line})...)
		}
		if i == last && len(line) > 0 {
			es = append(es, w.Open(path, line))
		}
	}
	return es
}

func reread(t testing.TB, es []core.Entry) []core.Entry {
	t.Helper()
	out := make([]core.Entry, len(es))
	for i, e := range es {
		got, ok, err := Entry(e.Line)
		if !ok || err != nil {
			t.Fatalf("entry %d: ours %v, error %v", i, ok, err)
		}
		if got.ID != e.ID || got.Parent != e.Parent || got.Type != e.Type || got.Aside != e.Aside || got.Time != e.Time {
			t.Fatalf("entry %d is read as %+v, it was written as %+v", i, got, e)
		}
		out[i] = got
	}
	return out
}

func noMain(core.Entry) string { return "main" }

func TestFilesAreRestoredByteForByte(t *testing.T) {
	t.Parallel()
	long := make([]byte, 3*pieceSize+7)
	for i := range long {
		long[i] = byte(rand.IntN(256))
	}
	long = bytes.ReplaceAll(long, []byte("\n"), []byte("x"))
	for name, text := range map[string][]byte{
		"lines":          []byte("{}\n{}\n{\"a\":1}\n"),
		"blank lines":    []byte("\n\n{}\n\n"),
		"no newline":     []byte("{}\n{\"a\":"),
		"CRLF":           []byte("{}\r\n{}\r\n"),
		"mark, NUL":      []byte("\uFEFF{}\n\x00\x00\n\xff\n"),
		"long bytes":     append(slices.Clone(long), '\n'),
		"long text":      []byte(strings.Repeat("aé😀", pieceSize) + "\n"),
		"one repeated":   []byte(strings.Repeat("{\"type\":\"mode\"}\n", 50)),
		"like our own":   []byte("{\"type\":\"sesslog.line\"}\n"),
		"odd characters": []byte("{\"a\":\"\u2028\u0000\\ud83d\"}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w Writer
			es := append(pack(&w, "a/b.jsonl", text), w.File("c.txt", text)...)
			seen := map[string]bool{}
			for _, e := range es {
				if seen[e.ID] {
					t.Fatalf("id %s is there twice", e.ID)
				}
				seen[e.ID] = true
			}
			c, err := Read(reread(t, es), noMain)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range c.All() {
				if !bytes.Equal(f.Data, text) {
					t.Errorf("%s has %d bytes, want %d, or others", f.Path, len(f.Data), len(text))
				}
			}
		})
	}
}

func TestGrownFileKeepsItsIDs(t *testing.T) {
	t.Parallel()
	var v, w Writer
	torn := []byte("{}\n{}\n{\"a\":")
	before := pack(&v, "m", torn)
	after := pack(&w, "m", append(slices.Clone(torn), "1}\n{}\n"...))
	var es []core.Entry
	have := map[string]bool{}
	for _, e := range slices.Concat(before, after) {
		if !have[e.ID] {
			es = append(es, e)
		}
		have[e.ID] = true
	}
	c, err := Read(es, noMain)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.All()[0].Data), "{}\n{}\n{\"a\":1}\n{}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOpenRefusesForeignEnvelopes(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"sesslog.line"}`,
		`{"type":"sesslog.line","id":"a","path":"../x","text":""}`,
		`{"type":"sesslog.line","id":"a","path":"/x","text":""}`,
		`{"type":"sesslog.line","id":"a","path":"x"}`,
		`{"type":"sesslog.line","id":"a","path":"x","base64":"!"}`,
		`{"type":"sesslog.line","id":"a","path":"x","piece":3,"pieces":2,"text":""}`,
		`{"type":"sesslog.line","id":"a","path":"x","piece":0,"pieces":1e9,"text":""}`,
		`{"type":"sesslog.other","id":"a","path":"x","text":""}`,
		`{"type":"sesslog.line",`,
	} {
		if _, ok, err := Open([]byte(line)); !ok || err == nil {
			t.Errorf("%s: ours %v, error %v", line, ok, err)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	line := NewHeader("claude", core.HeaderFields{ID: "s", Time: "2026-01-02T03:04:05.000Z", CWD: "/w"})
	h, err := Header("claude", line)
	if err != nil || h.ID != "s" || h.CWD != "/w" || h.Time != "2026-01-02T03:04:05.000Z" {
		t.Errorf("header %+v, error %v", h, err)
	}
	if _, err := Header("codex", line); err == nil {
		t.Error("the header of another dialect is accepted")
	}
	if !IsPacked("claude", append(line, '\n')) || IsPacked("codex", line) {
		t.Error("IsPacked does not follow the header's dialect")
	}
}
