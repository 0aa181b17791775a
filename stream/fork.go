package stream

import (
	"context"
	"fmt"
	"time"

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
	switch f.Kind {
	case "":
		f.Kind = lineage.Fork
	case lineage.Fork, lineage.Branch, lineage.Detach:
	default:
		return nil, fmt.Errorf("kind %q: a fork is %q, %q or %q: %w", f.Kind, lineage.Fork, lineage.Branch, lineage.Detach, core.ErrInvalid)
	}
	if f.ID == "" {
		f.ID = core.SessionID(ss.cfg.NewID())
	}
	d := draft{id: f.ID, cwd: f.CWD, by: f.By, detached: f.Kind == lineage.Detach}
	var entries []core.Entry
	err := src.View(func(st *core.State) (err error) {
		leaf := f.At
		if leaf.IsDefault() {
			leaf = st.Leaf(core.MainHead)
		}
		if entries, err = st.Dialect.Path(st.Entries, leaf); err != nil {
			return fmt.Errorf("fork session %s: %w", src.id, err)
		}
		d.add(st, leaf, f.Kind)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ss.born(ctx, d, entries)
}

// A draft is what is known of a session that is about to be made of others.
type draft struct {
	id       core.SessionID
	cwd      string // default the first parent's
	by       string
	detached bool // it does not name its parents

	dialect core.Dialect
	agentID string // of the first parent
	parents []core.Lineage
}

// add notes that the session comes from where leaf is in st.
func (d *draft) add(st *core.State, leaf core.Leaf, kind lineage.Kind) {
	if d.dialect == nil {
		d.dialect, d.agentID = st.Dialect, st.Header.ID
		if d.cwd == "" {
			d.cwd = st.Header.CWD
		}
	}
	from := core.Lineage{Session: st.ID, Cursor: st.Cursor(), Kind: string(kind)}
	from.Entry, _ = leaf.ID()
	d.parents = append(d.parents, from)
}

// born makes the session of d with these entries, as the log keeps them.
func (ss *Sessions) born(ctx context.Context, d draft, es []core.Entry) (*Session, error) {
	now := ss.cfg.Now().UTC()
	o := core.Origin{Dialect: d.dialect.Name(), Parents: d.parents, Time: now, By: d.by}
	fields := core.HeaderFields{ID: string(d.id), Time: headerTime(now), CWD: d.cwd, Parent: d.agentID}
	if d.detached {
		o.Parents, o.Kind = nil, string(lineage.Detach)
	}
	if d.detached || !lineage.IsRecording(ctx) {
		fields.Parent = ""
	}
	head, err := d.dialect.Header(d.dialect.NewHeader(fields))
	if err != nil {
		return nil, err
	}
	return ss.Create(ctx, Birth{ID: d.id, Origin: o, Header: head, Entries: es})
}

func headerTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
