package core_test

import (
	"encoding/json"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

func TestManifestWithPartsRequiresItsFoldVersion(t *testing.T) {
	t.Parallel()
	s := opened(t, line("a", ""))
	m := s.Manifest(s.Render(), "object")
	parts := []core.Part{{Object: "first", Size: 1}, {Inline: []byte("x"), Size: 1}}
	m.SetParts(parts)
	if m.Fold != 3 {
		t.Errorf("it asks for rules %d", m.Fold)
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, core.KindCheckpoint, core.MainHead, "w", string(body))
	if got := s.FormerParts(); len(got) != 2 || got[0].Object != "first" {
		t.Errorf("the next snapshot may rest on %+v", got)
	}
	// One of the same lines is made of the same.
	again := s.Manifest(s.Render(), "other")
	if !again.Reuse(s) || len(again.Parts) != 2 || again.Fold != 3 || again.Object != "object" {
		t.Errorf("of the same lines: %+v", again)
	}
}

func TestFormerPartsAfterRedaction(t *testing.T) {
	t.Parallel()
	s := opened(t, line("a", ""), line("b", "a"))
	checkpoint := func(upTo *core.Manifest) {
		body, err := json.Marshal(upTo)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, s, core.KindCheckpoint, core.MainHead, "w", string(body))
	}
	checkpoint(s.Manifest(s.Render(), "first"))
	late := s.Manifest(s.Render(), "late")
	if len(s.FormerParts()) != 1 {
		t.Error("nothing may rest on the first snapshot")
	}
	redact := func() { apply(t, s, core.KindRedact, "", "w", "{}\n"+line("a", "")) }
	redact()
	if p := s.FormerParts(); p != nil {
		t.Errorf("a redaction came: %+v", p)
	}
	checkpoint(late) // it covers less than the redaction
	if p := s.FormerParts(); p != nil {
		t.Errorf("a late snapshot came: %+v", p)
	}
	m := s.Manifest(s.Render(), "new")
	checkpoint(m)
	if len(s.FormerParts()) != 1 {
		t.Error("nothing may rest on the new snapshot")
	}
	// The same, of a session that is read from its snapshot.
	r, err := core.Restore(m, s.Render(), 1, dialect.All())
	if err != nil || len(r.FormerParts()) != 1 {
		t.Errorf("nothing may rest on the snapshot that it is read from: %v", err)
	}
	redact() // of the same entry
	if p := s.FormerParts(); p != nil {
		t.Errorf("another redaction came: %+v", p)
	}
}
