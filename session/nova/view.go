package nova

import (
	"context"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/nova"
)

// held is a session that this program has opened.
type held struct {
	id core.SessionID

	mu   sync.Mutex // held during a change
	view *view      // nil if the session has to be loaded
}

// A view is a session as of a cursor.
type view struct {
	state   dialect.State
	header  core.Header
	entries []core.Entry
	cursor  core.Cursor
	claimed bool
}

// load reads a session from the log. It returns core.ErrDeleted if the session
// is in the trash.
func (ss *Sessions) load(ctx context.Context, id core.SessionID) (*view, error) {
	l, err := ss.cfg.Log.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	d := dialect.Dialect{}
	if l.Dialect != d.Name() {
		return nil, fmt.Errorf("session %s belongs to %s, not to nova: %w", id, l.Dialect, core.ErrInvalid)
	}
	if err := l.CheckWritable(id); err != nil {
		return nil, err
	}
	v := &view{cursor: l.Cursor, entries: make([]core.Entry, len(l.Lines))}
	_, v.claimed = l.Claims[core.MainHead]
	if v.header, err = d.Header(l.Header); err != nil {
		return nil, fmt.Errorf("header of session %s: %w", id, err)
	}
	for i, line := range l.Lines {
		if v.entries[i], err = d.Entry(line); err != nil {
			return nil, fmt.Errorf("line %d of session %s: %v: %w", i+1, id, err, core.ErrCorrupt)
		}
	}
	v.state = dialect.Fold(v.header, v.entries)
	return v, nil
}

// current loads a session and keeps the view for the next change. A session
// that is gone is not held any more.
func (ss *Sessions) current(ctx context.Context, id string) (*view, error) {
	h, err := ss.session(ctx, id)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return ss.reload(ctx, id, h)
}

// reload replaces the view of h, whose lock is held.
func (ss *Sessions) reload(ctx context.Context, id string, h *held) (*view, error) {
	v, err := ss.load(ctx, h.id)
	if gone(err) {
		ss.drop(id)
	}
	h.view = v
	return v, err
}

// has reports whether the session has an entry with this id. It searches
// backwards, because callers look for recent ones.
func (v *view) has(id string) bool {
	for i := len(v.entries) - 1; i >= 0; i-- {
		if v.entries[i].ID == id {
			return true
		}
	}
	return false
}

// with returns the view after entries, as of cursor. v does not change.
func (v *view) with(es []core.Entry, cursor core.Cursor) *view {
	next := *v
	next.entries = append(v.entries[:len(v.entries):len(v.entries)], es...)
	next.cursor = cursor
	next.state = dialect.Fold(v.header, next.entries)
	return &next
}
