package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
)

func TestAdmitRejectsRedactedID(t *testing.T) {
	s := opened(t, line("a", ""), line("b", "a"))
	s.Origin.Original, s.Origin.OriginalSize = core.DigestOf([]byte("x")), 1
	apply(t, s, core.KindRedact, "main", "w", `{"by":"ada"}`+"\n"+line("a", ""))
	if !s.Redacted["a"] || s.Redacted["b"] || !s.Origin.Original.IsZero() {
		t.Errorf("redacted %v, the file as it was %v", s.Redacted, s.Origin.Original)
	}
	e := core.Entry{ID: "a", Line: []byte(`{"id":"a","other":1}`)}
	if _, err := s.Admit(core.Proposal{Head: "main", Loose: true, Entries: []core.Entry{e}}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("other bytes for it: %v", err)
	}
	restoreIt(t, s)
}

// A file may have used an id twice; both lines say what was to be taken out.
func TestRedactReplacesEveryEntryOfAnID(t *testing.T) {
	s := opened(t, line("a", ""), `{"type":"custom","id":"a","x":"swordfish"}`)
	apply(t, s, core.KindRedact, "main", "w", `{}`+"\n"+`{"type":"custom","id":"a"}`)
	if text := string(s.Render()); strings.Contains(text, "swordfish") || strings.Count(text, "\n"+`{"type":"custom","id":"a"}`) != 2 {
		t.Errorf("it is\n%s", text)
	}
}

func TestManifestWithLegalHoldRequiresItsFoldVersion(t *testing.T) {
	s := opened(t, line("a", ""))
	if m := s.Manifest(s.Render(), "object"); m.Fold != 1 || m.LegalHold != nil {
		t.Errorf("of a session that is not held: rules %d, held %v", m.Fold, m.LegalHold)
	}
	apply(t, s, core.KindHold, "main", "w", `{"by":"ada","why":"a lawsuit"}`)
	if m := s.Manifest(s.Render(), "object"); m.Fold != 2 || m.LegalHold == nil {
		t.Errorf("of one that is held: rules %d, held %v", m.Fold, m.LegalHold)
	}
	if err := s.CheckRemovable(); !errors.Is(err, core.ErrHeld) || !strings.Contains(err.Error(), "ada (a lawsuit)") {
		t.Errorf("removable: %v", err)
	}
	if s.CheckWritable() != nil {
		t.Errorf("writable: %v", s.CheckWritable())
	}
	restoreIt(t, s)
	apply(t, s, core.KindUnhold, "main", "w", `{}`)
	if s.CheckRemovable() != nil {
		t.Errorf("released: %v", s.CheckRemovable())
	}
}
