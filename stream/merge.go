package stream

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/join"
	"github.com/sesslog/sesslog/core/lineage"
)

// A Merge says how to make one session of two.
type Merge struct {
	ID    core.SessionID // of the new session; default a new id
	HeadA string         // whose path of the first session is taken; default main
	HeadB string         // and of the second
	CWD   string         // default the first session's
	By    string
}

// Merge makes a new session of two: what a's head stands for, then what b's
// does, as package join has it, with both as its parents, in that order. a and
// b may be the same session, also with the same head. Images are shared, not
// copied.
//
// core.ErrInvalid where the two are of different dialects, core.ErrNotFound for
// a head that is not there, core.ErrDeleted where one of them was erased.
func (ss *Sessions) Merge(ctx context.Context, a, b *Session, m Merge) (*Session, error) {
	if m.ID == "" {
		m.ID = core.SessionID(ss.cfg.NewID())
	}
	d := draft{id: m.ID, cwd: m.CWD, by: m.By}
	sideA, err := d.side(a, m.HeadA)
	if err != nil {
		return nil, err
	}
	sideB, err := d.side(b, m.HeadB)
	if err != nil {
		return nil, err
	}
	es, err := join.Entries(d.dialect, sideA, sideB, string(m.ID))
	if err != nil {
		return nil, fmt.Errorf("merge session %s with %s: %w", a.id, b.id, err)
	}
	return ss.born(ctx, d, es)
}

// side returns what head stands for in s, and notes it as a parent.
func (d *draft) side(s *Session, head string) (side join.Side, err error) {
	if head == "" {
		head = core.MainHead
	}
	err = s.View(func(st *core.State) error {
		switch {
		case st.Erased != nil:
			return st.Writable()
		case st.Heads[head] == nil:
			return fmt.Errorf("session %s has no head %q: %w", st.ID, head, core.ErrNotFound)
		case d.dialect != nil && d.dialect.Name() != st.Dialect.Name():
			return &mixedError{d.parents[0].Session, d.dialect.Name(), st.ID, st.Dialect.Name()}
		}
		side = join.Side{Entries: st.Entries, Leaf: st.Leaf(head)}
		d.add(st, side.Leaf, lineage.Merge)
		return nil
	})
	return side, err
}

// mixedError: sessions of two dialects cannot be one.
type mixedError struct {
	a        core.SessionID
	dialectA string
	b        core.SessionID
	dialectB string
}

func (e *mixedError) Error() string {
	return fmt.Sprintf("session %s is %s's and session %s is %s's, a session has one dialect; convert one first with: sessctl export %s --as %s --out FILE, then sessctl import FILE",
		e.a, e.dialectA, e.b, e.dialectB, e.b, e.dialectA)
}

func (*mixedError) Unwrap() error { return core.ErrInvalid }
