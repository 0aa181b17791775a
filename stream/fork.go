package stream

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A Fork says what to make of a session.
type Fork struct {
	ID  core.SessionID // of the new session; default a new id
	At  core.Leaf      // where the path to copy ends; the default is where main stands
	CWD string         // default the source's
	By  string
	// Kind is how the new session tells of the old one: lineage.Fork, which is
	// the default, lineage.Branch, or lineage.Detach, which does not name it.
	Kind lineage.Kind
}

// Fork makes a new session that holds the path from the root to f.At of src,
// line by line as it is there, and records where it came from. Images are
// shared, not copied. core.ErrInvalid for a kind that is none of a fork's.
func (ss *Sessions) Fork(ctx context.Context, src *Session, f Fork) (*Session, error) {
	if f.ID == "" {
		f.ID = core.SessionID(ss.cfg.NewID())
	}
	if err := f.checkKind(ctx); err != nil {
		return nil, err
	}
	var b Birth
	err := src.View(func(st *core.State) error {
		leaf := f.At
		if leaf.IsDefault() {
			leaf = st.Leaf(core.MainHead)
		}
		path, err := st.Dialect.Path(st.Entries, leaf)
		if err != nil {
			return fmt.Errorf("fork session %s: %w", src.id, err)
		}
		now := ss.cfg.Now().UTC()
		cwd := f.CWD
		if cwd == "" {
			cwd = st.Header.CWD
		}
		origin, parent := f.descent(st, leaf)
		head, err := st.Dialect.Header(st.Dialect.NewHeader(core.HeaderFields{
			ID: string(f.ID), Time: now.Format("2006-01-02T15:04:05.000Z"), CWD: cwd, Parent: parent,
		}))
		if err != nil {
			return err
		}
		origin.Dialect, origin.Time, origin.By = st.Dialect.Name(), now, f.By
		b = Birth{
			ID:      f.ID,
			Origin:  origin,
			Header:  head,
			Entries: path,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ss.Create(ctx, b)
}
