package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/session"
)

// A fork is a checked request for one.
type fork struct {
	session.Fork
	stamp string // the kind that the agent's own header has
}

// Fork makes a new session from src, line by line, and records its origin: all of
// it, or the path from the root to q.At. Images are shared, not copied. It returns
// core.ErrInvalid for an unknown kind.
func (ss *Sessions) Fork(ctx context.Context, src *Session, q session.Fork) (*Session, error) {
	f, err := checkedFork(ctx, q)
	if err != nil {
		return nil, err
	}
	var b CreateRequest
	var leaf core.Leaf
	err = src.View(func(st *core.State) (err error) {
		leaf = f.At
		if leaf.IsDefault() || f.Whole {
			leaf = st.Leaf(core.MainHead)
		}
		if b, err = ss.copyOf(st, f, leaf); err != nil {
			return fmt.Errorf("fork session %s: %w", src.id, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s, err := ss.Create(ctx, b)
	if err == nil && f.Kind != lineage.Detach {
		err = src.countFork(ctx, b.Header)
	}
	if err != nil || !f.Whole || s.dialect().Linear() || !core.AnyInTree(b.Entries) || s.Cursor().Seq > 1 || s.dialect().Leaf(b.Entries) == leaf {
		return s, err
	}
	// These entries alone do not end at the leaf of the source. If another writer has added
	// entries to the fork already, its head stays.
	err = s.Move(ctx, core.MainHead, "", leaf)
	if errors.Is(err, core.ErrNotFound) {
		return s, nil // an earlier attempt made it, and the source has new entries since
	}
	return s, err
}

// countFork records in s that the session with header child was forked from it, if
// its agent's sessions know that. A fork does not disturb a writer that holds the
// session: then it is not counted.
func (s *Session) countFork(ctx context.Context, child core.Header) error {
	d, ok := s.dialect().(optional.ForkCounter)
	if !ok {
		return nil
	}
	_, err := s.Append(ctx, Append{
		Lines: [][]byte{d.ForkMark(child)},
		ID:    func(int) string { return "fork-" + child.ID },
	})
	if _, held := errors.AsType[*core.FencedError](err); held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("session %s was created, but its source does not count it: %w", child.ID, err)
	}
	return nil
}

// copyOf returns the request for the session that f makes of st.
func (ss *Sessions) copyOf(st *core.State, f fork, leaf core.Leaf) (b CreateRequest, err error) {
	es := st.Entries
	switch {
	case f.Whole:
	case f.Branched:
		es, err = tree.CopyPath(st.Dialect, st.Header, st.Entries, leaf)
	default:
		es, err = st.Dialect.Path(st.Entries, leaf)
	}
	if err == nil && !f.Whole {
		err = tree.CheckEnd(st.Dialect, es)
	}
	if err != nil {
		return b, err
	}
	now := ss.cfg.Now().UTC()
	cwd := f.CWD
	if cwd == "" {
		cwd = st.Header.CWD
	}
	origin, parent := f.lineage(st, leaf)
	head, es, err := optional.Derive(st.Dialect, core.HeaderFields{
		ID: string(f.ID), Time: now.Format("2006-01-02T15:04:05.000Z"), CWD: cwd, Parent: parent,
	}, f.stamp, []optional.Source{{Header: st.Header, Entries: st.Entries}}, es)
	if err != nil {
		return b, err
	}
	es, err = tree.WithSessionMark(st.Dialect, head, es, ss.cfg.NewID(), head.Time)
	if err != nil {
		return b, err
	}
	origin.Dialect, origin.Time, origin.By = st.Dialect.Name(), now, f.By
	origin.SetKey(f.Key, "fork", st.ID, f.Whole, f.At, f.Branched, f.CWD, f.Kind, f.stamp)
	return CreateRequest{
		ID:      f.ID,
		Origin:  origin,
		Header:  head,
		Entries: es,
	}, nil
}

// checkedFork fills in the defaults of q. The fork does not refer to its source if
// ctx disables lineage.
func checkedFork(ctx context.Context, q session.Fork) (fork, error) {
	f := fork{Fork: q}
	if f.ID == "" {
		f.ID = newid.Session(ulid.Make())
	}
	switch f.Kind {
	case "":
		f.Kind = lineage.Fork
		if f.Branched {
			f.Kind = lineage.Branch
		}
	case lineage.Fork, lineage.Branch, lineage.Detach:
	default:
		return fork{}, fmt.Errorf("kind %.64q: a fork is %q, %q or %q: %w", f.Kind, lineage.Fork, lineage.Branch, lineage.Detach, core.ErrInvalid)
	}
	f.stamp = string(f.Kind)
	if !lineage.IsRecording(ctx) {
		f.Kind, f.stamp = lineage.Detach, string(lineage.Unknown)
	}
	return f, nil
}

// lineage returns the origin of a fork at leaf of st, and the parent that its header
// names.
func (f *fork) lineage(st *core.State, leaf core.Leaf) (o core.Origin, parent string) {
	if f.Kind == lineage.Detach {
		return core.Origin{Kind: string(lineage.Detach)}, ""
	}
	return core.Origin{Parents: []core.Lineage{lineageAt(st, leaf, f.Kind)}}, st.Header.ID
}

// lineageAt names leaf in st.
func lineageAt(st *core.State, leaf core.Leaf, kind lineage.Kind) core.Lineage {
	l := core.Lineage{Session: st.ID, Cursor: st.Cursor(), Kind: string(kind)}
	l.Entry, _ = leaf.ID()
	return l
}
