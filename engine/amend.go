package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
)

// Amend replaces lines of existing entries, as agents do in their files when they
// add something to a message later.
type Amend struct {
	Head   string // default core.MainHead: who may write to it may amend
	Writer string // of the claim it speaks from; empty for none
	// After, unless nil, is where the session must still be, except if the lines
	// exist already. It prevents that a delayed amendment undoes later ones.
	After *core.Cursor
	// Change returns the entries to replace, by id, with lines as the log stores them:
	// its images stay blobs. It gets the state that the record will follow, may be
	// called several times, and must have no side effects.
	Change func(*core.State) ([]core.Entry, error)
	// Given are lines that StoreImages was called with at Began, for Change to refer to.
	Given []core.Entry
	Began time.Time

	inline bool // Change returns lines with their images in them
}

// Lines sets Change to whole lines, with their images in them.
func (a *Amend) Lines(lines [][]byte) {
	a.inline = true
	a.Change = func(st *core.State) ([]core.Entry, error) {
		es := make([]core.Entry, len(lines))
		for i, line := range lines {
			e, err := st.Dialect.Entry(line)
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			es[i] = e
		}
		return es, nil
	}
}

// Amend replaces lines of existing entries and returns when they are durable. An
// entry keeps its id, parent and position; byte-identical lines are not stored
// again. Besides those of Append the errors are core.ErrNotFound for an unknown
// entry, a *core.ConflictError for a.After, and what Change returns.
func (s *Session) Amend(ctx context.Context, a Amend) (core.Cursor, error) {
	if a.Head == "" {
		a.Head = core.MainHead
	}
	if err := core.CheckHead(a.Head); err != nil {
		return core.Cursor{}, err
	}
	var at core.Cursor
	if a.inline {
		a.Began = s.ss.cfg.Now()
	}
	err := s.write(ctx, func(st *core.State, _ bool) (*core.Record, error) {
		if err := st.CheckWritable(); err != nil {
			return nil, err
		}
		if err := st.CheckWriter(a.Head, a.Writer, a.Writer != ""); err != nil {
			return nil, err
		}
		es, err := a.Change(st)
		if err != nil {
			return nil, err
		}
		if a.inline {
			a.Given = es
			es, _, err = s.ss.StoreImages(ctx, es)
		} else {
			image.EscapeForeignLines(es, func(d core.Digest) bool { return a.brings(st, es, d) })
		}
		if err != nil {
			return nil, err
		}
		es, err = s.amended(st, es)
		if err == nil && len(es) == 0 {
			return nil, nil
		}
		if a.After != nil { // before errors in the lines, which are for another state
			if err := st.CheckUnchanged(*a.After); err != nil {
				return nil, err
			}
		}
		if err != nil {
			return nil, err
		}
		return &core.Record{
			Kind: core.KindAmend, Head: a.Head, Writer: s.writerOr(a.Writer),
			Count: len(es), Body: core.LinesBody(es),
		}, nil
	}, func(st *core.State) error {
		at = st.Cursor()
		return nil
	})
	if err == nil {
		err = s.ss.RenewImages(ctx, a.Began, a.Given)
	}
	return at, err
}

// brings reports whether d is an image of the entries that es replaces, or of the
// given lines.
func (a *Amend) brings(st *core.State, es []core.Entry, d core.Digest) bool {
	for i := range es {
		if old, ok := st.Entry(es[i].ID); ok && slices.Contains(core.BlobsOf(old.Line), d) {
			return true
		}
	}
	for i := range a.Given {
		if line, _ := image.Externalize(a.Given[i].Line); slices.Contains(core.BlobsOf(line), d) {
			return true
		}
	}
	return false
}

// amended returns es without those that do not change.
func (s *Session) amended(st *core.State, es []core.Entry) ([]core.Entry, error) {
	var changed []core.Entry
	for i, e := range es {
		var err error
		old, ok := st.Entry(e.ID)
		switch {
		case !ok:
			err = fmt.Errorf("session %s has no such entry: %w", s.id, core.ErrNotFound)
		case bytes.Equal(old.Line, e.Line):
			continue
		case st.Redacted[e.ID]:
			err = fmt.Errorf("this entry was redacted, its id takes no other bytes: %w", core.ErrConflict)
		case bytes.IndexByte(e.Line, '\n') >= 0:
			err = fmt.Errorf("it is more than one line: %w", core.ErrInvalid)
		case old.Parent != e.Parent || old.Aside != e.Aside || old.Type != e.Type:
			err = fmt.Errorf("it would have another place or type, which an entry keeps: %w", core.ErrInvalid)
		default:
			err = admitAmended(st, e)
		}
		if err != nil {
			return nil, &core.LineError{Line: i + 1, ID: e.ID, Err: err}
		}
		changed = append(changed, e)
	}
	return changed, nil
}

// admitAmended refuses a line that the agent would not add to the session either.
func admitAmended(st *core.State, e core.Entry) error {
	if _, err := checkLine(st.Dialect, e.Line, false); err != nil {
		return err
	}
	d, ok := st.Dialect.(core.Admitter)
	if !ok {
		return nil
	}
	there := func(id string) bool { _, ok := st.Entry(id); return ok }
	return d.Admit(core.Admission{Header: st.Header, Has: there, Count: func() int { return core.CountInTree(st.Entries) }}, e)
}
