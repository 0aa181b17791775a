package engine

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/session"
)

// A file and its session diverge if an agent adds lines to the file while another writer
// adds lines to the session. If the importer allows it, both are kept, on separate heads.

func (opts ImportOptions) check() error {
	switch o := opts.OnConflict; {
	case o != "" && o != session.Fail && o != session.Branch:
		return fmt.Errorf("on conflict %.64q: an import supports only fail or branch: %w", o, core.ErrInvalid)
	case opts.Branch == "":
		return nil
	case o != session.Branch:
		return fmt.Errorf("a branch name, %.64q, requires the conflict mode branch: %w", opts.Branch, core.ErrInvalid)
	case opts.Branch == core.MainHead:
		return fmt.Errorf("the branch of a file must not be named %s: %w", core.MainHead, core.ErrInvalid)
	}
	return core.CheckHead(opts.Branch)
}

// diverged reports whether head has entries after those of f, other than labels and
// names, which users give to sessions.
func diverged(st *core.State, head string, f *core.File) bool {
	has := map[string]bool{}
	for i := range f.Entries {
		has[f.Entries[i].ID] = true
	}
	notes := noteTypes(st.Dialect)
	at, _ := st.Leaf(head).ID()
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

// succession returns how a file that its agent replaces as a whole relates to st.
// It is optional.Diverged for files that grow by lines.
func succession(st *core.State, f *core.File) optional.Succession {
	d, ok := st.Dialect.(optional.Successor)
	if !ok {
		return optional.Diverged
	}
	return d.Succession(st.Header, st.Entries, f.Entries)
}

// noteTypes returns the types of labels and names.
func noteTypes(d core.Dialect) map[string]bool {
	types := map[string]bool{}
	for _, line := range [][]byte{d.NewLabel("x", "x"), d.NewName("x")} {
		if e, err := d.Entry(line); line != nil && err == nil {
			types[e.Type] = true
		}
	}
	return types
}

// parentOf returns the entry of the log that the first of fresh follows.
func parentOf(fresh []core.Entry) core.Leaf {
	for i := range fresh {
		if !fresh[i].Aside && fresh[i].Parent != "" {
			return core.LeafAt(fresh[i].Parent)
		}
	}
	return core.NoLeaf
}

// headFor returns the head for the entries that f adds, and the claim to write with:
// the head that they continue, preferably the writer's own or main; otherwise the
// writer's own, for which the file was made; otherwise main. A writer that holds a
// head may write to free ones.
func headFor(st *core.State, f *core.File, fresh []core.Entry, writer string) (head, as string) {
	names := st.HeadNames() // main first
	own := ""
	for _, name := range names {
		if c := st.Heads[name].Claim; c != nil && writer != "" && c.Writer == writer {
			own = name
			names = append([]string{own}, names...)
			break
		}
	}
	from := parentOf(fresh)
	for _, name := range names {
		switch {
		case from.IsNone() || st.Leaf(name) != from:
		case own != "" && st.Heads[name].Claim == nil:
			return name, ""
		default:
			return name, writer
		}
	}
	if own != "" && !diverged(st, own, f) {
		return own, writer
	}
	return core.MainHead, writer
}

// importToBranch stores the lines of a, which are those of fresh, on a separate
// head.
func (s *Session) importToBranch(ctx context.Context, a Append, fresh []core.Entry, opts ImportOptions) (Append, core.Receipt, error) {
	from := parentOf(fresh)
	b := a
	b.Head, b.Writer, b.from = opts.Branch, "", &from
	if opts.After == nil {
		b.After = nil
	}
	if b.Head == "" {
		b.Head = s.branchName(a)
	}
	rec, err := s.enqueueAndWait(ctx, b)
	if err != nil {
		return b, rec, fmt.Errorf("head %q: %w", b.Head, err)
	}
	return b, rec, nil
}

// divergedError is a *core.ConflictError that a retry cannot resolve.
type divergedError struct{ *core.ConflictError }

func (e *divergedError) Error() string {
	return "the session and the file have diverged: " + e.ConflictError.Error()
}

func (e *divergedError) Unwrap() error { return e.ConflictError }

// divergedSince returns the error that says who wrote what after the last common
// entry.
func (s *Session) divergedSince(ctx context.Context, f *core.File, a Append) error {
	var want core.Cursor
	err := s.replay(ctx, func(st *core.State) error {
		if want == (core.Cursor{}) || !diverged(st, a.Head, f) {
			want = st.Cursor()
		}
		return nil
	})
	if err != nil {
		return err
	}
	moved := &core.ConflictError{Session: s.id, Head: a.Head, Want: want}
	_ = s.View(func(st *core.State) error {
		moved.Have, moved.Leaf = st.Cursor(), st.Leaf(a.Head)
		return nil
	})
	moved.Lines = a.Lines
	moved.Since, moved.More = s.since(ctx, a.Head, want.Seq)
	return &divergedError{moved}
}
