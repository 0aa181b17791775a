package stream

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A file and its session in the log may have parted: an agent went on with the
// file, and somebody else with the session. Both are kept, on heads of their own,
// if the importer says so.

func (how ImportHow) check() error {
	switch o := how.OnConflict; {
	case o != "" && o != session.Fail && o != session.Branch:
		return fmt.Errorf("on conflict %.64q: a file's lines stay behind each other, say fail or branch: %w", o, core.ErrInvalid)
	case how.Branch == "":
		return nil
	case o != session.Branch:
		return fmt.Errorf("head %.64q is for a branch, which was not asked for: %w", how.Branch, core.ErrInvalid)
	case how.Branch == core.MainHead:
		return fmt.Errorf("the branch of a file cannot be called %s: %w", core.MainHead, core.ErrInvalid)
	}
	return core.CheckHead(how.Branch)
}

// wentOn reports whether main stands behind entries that f lacks and that are
// more than labels and names, which are given to sessions from outside.
func wentOn(st *core.State, f *core.File) bool {
	has := map[string]bool{}
	for i := range f.Entries {
		has[f.Entries[i].ID] = true
	}
	notes := noteTypes(st.Dialect)
	at, _ := st.Leaf(core.MainHead).ID()
	for range len(st.Entries) {
		e, ok := st.Entry(at)
		if !ok || has[at] {
			return false
		}
		if !notes[e.Type] {
			return true
		}
		at = e.Parent
	}
	return false
}

// noteTypes are the types of labels and names.
func noteTypes(d core.Dialect) map[string]bool {
	types := map[string]bool{}
	for _, line := range [][]byte{d.NewLabel("x", "x"), d.NewName("x")} {
		if e, err := d.Entry(line); line != nil && err == nil {
			types[e.Type] = true
		}
	}
	return types
}

// parentOf is behind which entry of the log the first of fresh goes.
func parentOf(fresh []core.Entry) core.Leaf {
	for i := range fresh {
		if !fresh[i].Aside && fresh[i].Parent != "" {
			return core.LeafAt(fresh[i].Parent)
		}
	}
	return core.NoLeaf
}

// headAt is a head other than main that stands where fresh goes on, empty for
// none: an earlier import of the file has made it.
func headAt(st *core.State, fresh []core.Entry) string {
	for _, name := range st.HeadNames() {
		if name != core.MainHead && st.Leaf(name) == parentOf(fresh) {
			return name
		}
	}
	return ""
}

// branchFile puts the lines of a, which are those of fresh, on a head of their
// own.
func (s *Session) branchFile(ctx context.Context, a Append, fresh []core.Entry, how ImportHow) (Append, Receipt, error) {
	from := parentOf(fresh)
	b := a
	b.Head, b.Writer, b.After, b.from = how.Branch, "", nil, &from
	if b.Head == "" {
		b.Head = s.branchName(a)
	}
	rec, err := s.store(ctx, b)
	if err != nil {
		return b, rec, fmt.Errorf("head %q: %w", b.Head, err)
	}
	return b, rec, nil
}

// A partedError is a *core.ConflictError of a file and not of a moment: to look
// again will not help.
type partedError struct{ *core.ConflictError }

func (e *partedError) Error() string {
	return "the session went on otherwise than the file: " + e.ConflictError.Error()
}

func (e *partedError) Unwrap() error { return e.ConflictError }

// partedFrom says who wrote what since main stood at an entry that f has.
func (s *Session) partedFrom(ctx context.Context, f *core.File, a Append) error {
	var want core.Cursor
	err := s.replay(ctx, func(st *core.State) {
		if want == (core.Cursor{}) || !wentOn(st, f) {
			want = st.Cursor()
		}
	})
	if err != nil {
		return err
	}
	moved := &core.ConflictError{Session: s.id, Head: core.MainHead, Want: want}
	_ = s.View(func(st *core.State) error {
		moved.Have, moved.Leaf = st.Cursor(), st.Leaf(core.MainHead)
		return nil
	})
	moved.Lines = a.Lines
	moved.Since, moved.More = s.since(ctx, core.MainHead, want.Seq)
	return &partedError{moved}
}
