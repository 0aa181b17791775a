package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
)

// Merge says how to make one session of two.
type Merge struct {
	ID    core.SessionID // of the new session; default a new id
	HeadA string         // whose path of the first session is taken; default main
	HeadB string         // and of the second
	CWD   string         // default the first session's
	By    string
	Key   string // see core.Origin
}

// Merge makes a new session of two: the path of a's head, then that of b's, as
// package convert merges them, with both as parents in that order. a and b may be
// the same session and head. Images are shared, not copied. It returns
// core.ErrInvalid if the dialects differ, core.ErrNotFound for an unknown head,
// core.ErrDeleted if one of them was erased.
func (ss *Sessions) Merge(ctx context.Context, a, b *Session, m Merge) (*Session, error) {
	if m.ID == "" {
		m.ID = newid.Session(ulid.Make())
	}
	first, err := partOf(a, m.HeadA)
	if err != nil {
		return nil, err
	}
	second, err := partOf(b, m.HeadB)
	if err != nil {
		return nil, err
	}
	d := first.dialect
	if d.Name() != second.dialect.Name() {
		return nil, &dialectMismatchError{a.id, d.Name(), b.id, second.dialect.Name()}
	}
	es, err := convert.Merge(d, first.Side, second.Side, string(m.ID))
	if err != nil {
		return nil, fmt.Errorf("merge session %s with %s: %w", a.id, b.id, err)
	}
	image.EscapeForeignLines(es, image.OwnBlobs(first.Entries, second.Entries))
	now := ss.cfg.Now().UTC()
	f := core.HeaderFields{ID: string(m.ID), Time: now.Format("2006-01-02T15:04:05.000Z"), CWD: m.CWD, Parent: first.header.ID}
	if f.CWD == "" {
		f.CWD = first.header.CWD
	}
	kind := lineage.Merge
	if !lineage.IsRecording(ctx) {
		f.Parent, kind = "", lineage.Unknown
	}
	head, es, err := optional.Derive(d, f, string(kind), []optional.Source{
		{Header: first.header, Entries: first.Entries}, {Header: second.header, Entries: second.Entries},
	}, es)
	if err != nil {
		return nil, fmt.Errorf("merge session %s with %s: %w", a.id, b.id, err)
	}
	if es, err = tree.WithSessionMark(d, head, es, ss.cfg.NewID(), f.Time); err != nil {
		return nil, err
	}
	o := core.Origin{Dialect: d.Name(), Parents: []core.Lineage{first.from, second.from}, Time: now, By: m.By}
	o.SetKey(m.Key, "merge", a.id, cmp.Or(m.HeadA, core.MainHead), b.id, cmp.Or(m.HeadB, core.MainHead), m.CWD, kind)
	return ss.Create(ctx, CreateRequest{ID: m.ID, Origin: o, Header: head, Entries: es})
}

// part is what a merge takes from one session.
type part struct {
	convert.Side
	dialect core.Dialect
	header  core.Header
	from    core.Lineage
}

// partOf returns the part of s at head.
func partOf(s *Session, head string) (p part, err error) {
	if head == "" {
		head = core.MainHead
	}
	err = s.View(func(st *core.State) error {
		if st.Erased != nil {
			return st.CheckWritable()
		}
		if st.Heads[head] == nil {
			return fmt.Errorf("session %s has no head %.64q: %w", st.ID, head, core.ErrNotFound)
		}
		leaf := st.Leaf(head)
		p = part{convert.Side{Entries: st.Entries, Leaf: leaf}, st.Dialect, st.Header, lineageAt(st, leaf, lineage.Merge)}
		return nil
	})
	return p, err
}

// dialectMismatchError means that two sessions of different dialects cannot be
// merged.
type dialectMismatchError struct {
	a        core.SessionID
	dialectA string
	b        core.SessionID
	dialectB string
}

func (e *dialectMismatchError) Error() string {
	return fmt.Sprintf("session %s is %s's and session %s is %s's, a session has one dialect; convert one first with: sessctl export %s --as %s --out FILE, then sessctl import FILE",
		e.a, e.dialectA, e.b, e.dialectB, e.b, e.dialectA)
}

func (*dialectMismatchError) Unwrap() error { return core.ErrInvalid }
