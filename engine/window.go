package engine

import (
	"context"
	"errors"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
)

const (
	// minWindowed is the least size of a session whose snapshots have a window. A smaller
	// one is loaded quickly.
	minWindowed = 4 << 20
	// maxWindow bounds the plain bytes of a window.
	maxWindow = 1 << 20
	// maxWindowTail bounds the bodies of the records that are read after a window.
	maxWindowTail = 8 << 20
)

// windowOf returns the plain bytes of st's window, and how many of its entries precede
// the context. There is none if st, which has size bytes, is small, or its window large.
func windowOf(st *core.State, size int) ([]byte, int) {
	if size < minWindowed {
		return nil, 0
	}
	es, before, ok := st.Window()
	if !ok {
		return nil, 0
	}
	plain := core.Lines(st.Header.Before(es))
	if len(plain) > maxWindow {
		return nil, 0
	}
	return plain, before
}

// errNoWindow means that a window cannot be used: the whole session is needed.
var errNoWindow = errors.New("there is no window")

// Window returns the end of a session as the log's leader has it. It reads no snapshot:
// the latest manifest has a window of that. It returns nil if the session has to be
// loaded, which also tells why if the session is damaged.
func (ss *Sessions) Window(ctx context.Context, id core.SessionID) *core.Window {
	last, err := ss.cfg.Log.LastLink(ctx, id)
	if err != nil || last.Kind == core.KindErase {
		return nil
	}
	base, err := baseLinks(ctx, ss.cfg.Log, id, last)
	if err != nil || base.Kind != core.KindCheckpoint || ss.checkFollows(ctx, id, base) != nil {
		return nil
	}
	w, err := ss.restoreWindow(id, base)
	if err != nil {
		return nil
	}
	v := view{st: w.State, end: mark{w.State.Pos, w.State.Chain}}
	read := 0
	err = ss.readAfter(ctx, &v, last, func(r *core.Record) error {
		if read += len(r.Body); read > maxWindowTail || !w.Accepts(r) {
			return errNoWindow
		}
		return v.read(r)
	})
	if err != nil || len(v.orphans) > 0 {
		return nil
	}
	ss.cfg.Witness.Opened(ctx, id, v.st.Seq)
	return w
}

// restoreWindow returns the window in a checkpoint.
func (ss *Sessions) restoreWindow(id core.SessionID, base *core.Record) (*core.Window, error) {
	m, err := base.Manifest()
	if err != nil {
		return nil, err
	}
	if m.Window == nil || m.Window.Size > maxWindow || m.Session != id || m.Log != ss.cfg.Log.Name() || m.Known() != nil {
		return nil, errNoWindow
	}
	plain, err := snapshot.UnpackVerified(m.Window.Inline, m.Window.Part)
	if err != nil {
		return nil, err
	}
	return core.RestoreWindow(m, plain, base.Base, ss.cfg.Dialects)
}
