package engine_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
)

// RATH-37, RATH-39
func TestLinearSessionIsOneChain(t *testing.T) {
	const id = "00000000-0000-4000-8000-00000000000a"
	l, ss, b := inMemory()
	d := openrath.Dialect{}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-02T03:04:05.678Z"}))
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.Entry(openrath.SystemText("be kind").Line(0))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ss.Create(t.Context(), engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "openrath"}, Header: h, Entries: []core.Entry{first}})
	if err != nil {
		t.Fatal(err)
	}
	const says = `{"record_type": "chunk", "kind": "user", "payload": {"content": "hi"}}`
	const ends = `{"record_type": "trailer"}`
	put := func(s *engine.Session, ids string) (core.Receipt, error) {
		t.Helper()
		names := strings.Fields(ids)
		var lines []string
		for _, name := range names {
			lines = append(lines, map[bool]string{true: ends, false: says}[name == "end"])
		}
		return s.Append(t.Context(), engine.Append{Lines: rawLines(lines), ID: func(i int) string { return names[i] }})
	}
	for _, c := range []struct {
		what, ids string
		on        *engine.Session
		stored    int
	}{
		{"stored", "a b c", s, 3},
		{"retry, at another position", "a b c", open(t, node(l, b), id), 0},
		{"the remainder of a partial append", "b c d end", s, 2},
		{"retry of the end", "d end", s, 0},
	} {
		rec, err := put(c.on, c.ids)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		testkit.Equal(t, c.what, c.stored, rec.Stored)
	}
	var kinds []string
	st := state(t, s)
	for _, e := range st.Entries {
		_, at, _ := strings.Cut(string(e.Line), `"index": `)
		if e.Aside {
			_, at, _ = strings.Cut(string(e.Line), `"final_chunk_count": `)
		}
		at, _, _ = strings.Cut(at, ",")
		kinds = append(kinds, e.Type+at)
	}
	testkit.Equal(t, "chunks", "system0 user1 user2 user3 user4 trailer5", strings.Join(kinds, " "))
	leaf, _ := st.Leaf(core.MainHead).ID()
	testkit.Equal(t, "leaf", "d", leaf)

	_, err = s.Append(t.Context(), engine.Append{Head: "side", Lines: rawLines([]string{says})})
	testkit.WantErr(t, err, core.ErrInvalid)
	if !strings.Contains(err.Error(), "sessctl fork "+id) {
		t.Errorf("the error has no hint: %v", err)
	}
	testkit.WantErr(t, s.Move(t.Context(), "side", "", core.LeafAt("a")), core.ErrInvalid)
	testkit.WantErr(t, s.Move(t.Context(), core.MainHead, "", core.LeafAt("a")), core.ErrInvalid)
	_, _, err = s.Claim(t.Context(), core.ClaimRequest{Head: "side"})
	testkit.WantErr(t, err, core.ErrInvalid)
	if err := s.Move(t.Context(), core.MainHead, "", core.LeafAt("d")); err != nil {
		t.Errorf("a move to the current position: %v", err)
	}
	mine := claim(t, s, core.ClaimRequest{})
	_, err = appendLines(t.Context(), s, says)
	testkit.WantErr(t, err, core.ErrFenced)
	_, err = s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: rawLines([]string{says})})
	testkit.WantErr(t, err, core.ErrInvalid) // it is closed
}

// TestPositionsCountReplacedAndForeignEntries appends to a chain whose entries were
// replaced, and to which another node appended.
func TestPositionsCountReplacedAndForeignEntries(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-4000-8000-00000000000b"
	l, ss, b := inMemory()
	d := openrath.Dialect{}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-02T03:04:05.678Z"}))
	testkit.Must(t, err)
	s, err := ss.Create(t.Context(), engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "openrath"}, Header: h})
	testkit.Must(t, err)
	const says = `{"record_type": "chunk", "kind": "user", "payload": {"content": "hi"}}`
	put := func(s *engine.Session, names ...string) {
		t.Helper()
		var lines []string
		for range names {
			lines = append(lines, says)
		}
		_, err := s.Append(t.Context(), engine.Append{Lines: rawLines(lines), ID: deterministic(names...)})
		testkit.Must(t, err)
	}
	put(s, "a", "b")
	put(open(t, node(l, b), id), "c")
	put(s, "d")
	_, err = s.Amend(t.Context(), engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
		e, err := d.Entry([]byte(strings.Replace(string(st.Entries[1].Line), "hi", "ho", 1)))
		return []core.Entry{e}, err
	}})
	testkit.Must(t, err)
	put(s, "e", "f")
	put(s, "a", "g") // a exists
	var at []string
	for _, e := range state(t, s).Entries {
		_, index, _ := strings.Cut(string(e.Line), `"index": `)
		index, _, _ = strings.Cut(index, ",")
		at = append(at, e.ID+index)
	}
	testkit.Equal(t, "chunks", "a0 b1 c2 d3 e4 f5 g6", strings.Join(at, " "))
}
