package removal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// rest makes the session's latest snapshot rest on a former one, and returns its
// manifest.
func (p *place) rest(t *testing.T, name string) *core.Manifest {
	t.Helper()
	r := p.node(t)
	s, err := r.Sessions.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		line := fmt.Sprintf(`{"type":"message","id":"%s-%d","message":{"role":"user","content":"the swordfish"}}`, name, i)
		if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
			t.Fatal(err)
		}
		m, err := r.Materializer.Checkpoint(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Parts) > 0 {
			return m
		}
	}
	t.Fatal("every snapshot is written whole")
	return nil
}

// Redacted lines are in no part of a snapshot, and in no manifest.
func TestRedactRemovesPartsOfEarlierSnapshots(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	before := p.rest(t, "more")
	r := p.node(t)
	ids := []string{"entry-1", "more-0"}
	if _, err := r.Redact(t.Context(), session, engine.Redaction{IDs: ids, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	m, err := r.Sessions.Manifest(t.Context(), session)
	if err != nil || len(m.Parts) > 0 || m.Object == before.Object {
		t.Errorf("the new snapshot rests on %+v: %v", m, err)
	}
	left := p.left(t, `"parts"`)
	if len(left) != 1 || left[0] != m.Object {
		t.Errorf("left are %v", left)
	}
	// Snapshots that rest on the new one do not have them either, and it stays.
	p.rest(t, "later")
	if _, err := r.Redact(t.Context(), session, engine.Redaction{IDs: ids[:1], Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	s, err := p.node(t).Sessions.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.View(func(st *core.State) error {
		for _, id := range ids {
			if e, _ := st.Entry(id); strings.Contains(string(e.Line), "swordfish") {
				t.Errorf("%s says %s", id, e.Line)
			}
		}
		return nil
	})
}

// An entry may have been amended before to the very text that the redaction leaves:
// then the lines do not change, but the parts must be removed.
func TestRepeatedRedactRemovesParts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	p.rest(t, "more")
	r := p.node(t)
	s, err := r.Sessions.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	words := engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
		e, _ := st.Entry("more-0")
		e, err := st.Dialect.Entry([]byte(strings.Replace(string(e.Line), "the swordfish", "gone", 1)))
		return []core.Entry{e}, err
	}}
	if _, err := s.Amend(t.Context(), words); err != nil {
		t.Fatal(err)
	}
	before, err := r.Materializer.Checkpoint(t.Context(), s)
	if err != nil || len(before.Parts) == 0 {
		t.Fatalf("the snapshot of the amended session rests on nothing: %+v, %v", before, err)
	}
	if _, err := r.Redact(t.Context(), session, engine.Redaction{IDs: []string{"more-0"}, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	m, err := r.Sessions.Manifest(t.Context(), session)
	if err != nil || m.SHA256 != before.SHA256 {
		t.Fatalf("the redaction changed the lines, so this shows nothing: %v", err)
	}
	if left := p.left(t, `"parts"`); len(m.Parts) > 0 || len(left) != 1 || left[0] != m.Object {
		t.Errorf("left are %v, the snapshot rests on %+v", left, m.Parts)
	}
}

func TestEraseRemovesAllParts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	p.rest(t, "more")
	if _, err := p.node(t).Erase(t.Context(), session, core.Notice{By: "ada"}, How{Now: true}); err != nil {
		t.Fatal(err)
	}
	if left := p.left(t, "swordfish"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
