package stream_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/pi"
	"github.com/sesslog/sesslog/stream"
)

// raw returns a session file that holds lines.
func raw(id string, lines ...string) []byte {
	h := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`
	return []byte(strings.Join(append([]string{h}, lines...), "\n") + "\n")
}

func file(t *testing.T, id string, lines ...string) *core.File {
	t.Helper()
	f, err := pi.Dialect{}.File(raw(id, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func importLines(t *testing.T, ss *stream.Sessions, id string, lines ...string) (stream.Imported, error) {
	t.Helper()
	return ss.Import(t.Context(), file(t, id, lines...), raw(id, lines...), core.Origin{By: "me"}, "")
}

func TestImportTwiceAddsNothing(t *testing.T) {
	l, ss, _ := memory()
	lines := []string{entry("root", ""), imageLine("img", strings.Repeat("QUJD", 400)), `{"type":"custom"}`, `{"type":"custom"}`}
	first, err := importLines(t, ss, "session1", lines...)
	if err != nil || !first.Created || first.Entries != 4 || first.Blobs != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := importLines(t, ss, "session1", lines...)
	if err != nil || again.Created || again.Entries != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	equal(t, "records", 1, len(records(t, l, "session1")))
	back, err := ss.Inline(t.Context(), state(t, again.Session).Entries[1].Line)
	if err != nil || string(back) != lines[1] {
		t.Errorf("the image came back as %.100s, %v", back, err)
	}
}

func TestImportOfAGrownFileAddsWhatIsNew(t *testing.T) {
	l, ss, _ := memory()
	old := []string{entry("root", ""), entry("a", "root")}
	grown := append(old, imageLine("img", strings.Repeat("QUJD", 400)), imageLine("odd", "blob:sha256:"+strings.Repeat("a", 64)), `{"type":"custom"}`)
	for i, c := range []struct {
		lines []string
		added int
	}{{old, 2}, {grown, 3}, {grown, 0}, {old, 0}} {
		res, err := importLines(t, ss, "session1", c.lines...)
		if err != nil || res.Entries != c.added {
			t.Fatalf("import %d: added %d, %v", i+1, res.Entries, err)
		}
	}
	st := folded(t, l, "session1", records(t, l, "session1"))
	var out []string
	for _, e := range st.Entries {
		line, err := ss.Inline(t.Context(), e.Line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	equal(t, "lines", grown, out)
}

func TestImportThatContradictsIsRefusedNamingTheLine(t *testing.T) {
	l, ss, _ := memory()
	if _, err := importLines(t, ss, "session1", entry("root", ""), entry("a", "root")); err != nil {
		t.Fatal(err)
	}
	_, err := importLines(t, ss, "session1", entry("root", ""), entry("new", "root"), entry("a", "new"))
	e, ok := errors.AsType[*core.LineError](err)
	if !ok || e.Line != 4 || e.ID != "a" || !errors.Is(err, core.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	equal(t, "records", 1, len(records(t, l, "session1")))
}

// Hosts that import the same file at once, and the same again when it has
// grown, make one session in which each line is once.
func TestImportsAtTheSameTimeMeet(t *testing.T) {
	l, _, b := memory()
	old := []string{entry("root", ""), `{"type":"custom"}`}
	for _, lines := range [][]string{old, append(old, `{"type":"custom","n":1}`, entry("a", "root"))} {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := importLines(t, node(l, b), "session1", lines...); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		st := folded(t, l, "session1", records(t, l, "session1"))
		equal(t, "entries", len(lines), len(st.Entries))
	}
	equal(t, "records", 2, len(records(t, l, "session1")))
}

func TestFileWithBadLinesIsKeptAsItWas(t *testing.T) {
	_, ss, b := memory()
	lines := []string{entry("root", ""), "not json", entry("a", "root")}
	res, err := importLines(t, ss, "session1", lines...)
	if err != nil {
		t.Fatal(err)
	}
	o := state(t, res.Session).Origin
	was, err := b.Get(t.Context(), o.Original)
	if err != nil || string(was) != string(raw("session1", lines...)) {
		t.Errorf("the original is %q, %v", was, err)
	}
	if len(o.Skipped) != 1 || o.Skipped[0].Line != 3 {
		t.Errorf("skipped %+v", o.Skipped)
	}
}

func TestForkCopiesThePath(t *testing.T) {
	l, ss, _ := memory()
	src := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "a"), entry("c", "a"))
	f, err := ss.Fork(t.Context(), src, stream.Fork{ID: "the-fork", At: core.LeafAt("b"), By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	st := folded(t, l, "the-fork", records(t, l, "the-fork"))
	sameState(t, "fork", st, state(t, f))
	equal(t, "entries", []string{"root", "a", "b"}, ids(st))
	equal(t, "line", string(state(t, src).Entries[1].Line), string(st.Entries[1].Line))
	want := []core.Lineage{{Session: "session1", Entry: "b", Cursor: state(t, src).Cursor(), Kind: "fork"}}
	equal(t, "it came from", want, st.Origin.Lineages())
	_, err = ss.Fork(t.Context(), src, stream.Fork{ID: "the-fork"})
	wantErr(t, err, core.ErrExists)
	_, err = ss.Fork(t.Context(), src, stream.Fork{At: core.LeafAt("nowhere")})
	wantErr(t, err, core.ErrNotFound)
	_, err = ss.Fork(t.Context(), src, stream.Fork{ID: "../x.*.>"})
	wantErr(t, err, core.ErrInvalid)
}
