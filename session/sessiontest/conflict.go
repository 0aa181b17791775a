package sessiontest

import (
	"errors"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
)

func refusedLines(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	other := w.open(t, s.ID(), takeOver)
	theirs := w.user(t, other, "theirs")
	_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "mine"))
	f, ok := errors.AsType[*core.FencedError](err)
	if !ok || len(f.Lines) != 1 || string(f.Lines[0]) != string(s.Unsent()[0].Line) {
		t.Fatalf("error is %v, want one with the line", err)
	}
	var wrote []string
	for _, c := range f.Since {
		wrote = append(wrote, c.Entries...)
	}
	testkit.Equal(t, "written since", []string{theirs}, wrote)
}

func sharedRebase(t *testing.T, w *suite) {
	s, _ := w.chat(t, shared)
	testkit.Must(t, s.Rebase(t.Context())) // does nothing
	other := w.open(t, s.ID(), shared)
	theirs := w.user(t, other, "theirs")
	for _, text := range []string{"mine", "mine too"} {
		_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, text))
		c, ok := errors.AsType[*core.ConflictError](err)
		if !ok || len(c.Lines) == 0 {
			t.Fatalf("error is %v, want a *core.ConflictError with lines", err)
		}
	}
	unsent := s.Unsent()
	if err := s.Rebase(t.Context()); s.Dialect().Linear() {
		testkit.WantErr(t, err, core.ErrConflict)
		return
	} else if err != nil {
		t.Fatal(err)
	}
	if len(s.Unsent()) != 0 || s.Err() != nil {
		t.Errorf("unsent are %d, %v", len(s.Unsent()), s.Err())
	}
	for i, want := range []string{theirs, unsent[0].ID} {
		if e, _ := s.Entry(unsent[i].ID); e.Parent != want {
			t.Errorf("the parent of entry %d is %q, want %q", i, e.Parent, want)
		}
	}
	same(t, w.open(t, s.ID()), s)
	w.user(t, s, "and on")
	same(t, w.open(t, s.ID()), s)
}

func fencedRebase(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	w.user(t, w.open(t, s.ID(), takeOver), "theirs")
	_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "mine"))
	testkit.WantErr(t, err, core.ErrFenced)
	before := slices.Clone(s.Unsent())
	testkit.WantErr(t, s.Rebase(t.Context()), core.ErrFenced)
	if after := s.Unsent(); len(after) != 1 || string(after[0].Line) != string(before[0].Line) {
		t.Error("its entry changed")
	}
	testkit.Must(t, s.BranchOff(t.Context(), "mine"))
}
