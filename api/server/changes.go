package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/session/catalog"
)

// changePage is how many changes are read at once.
const changePage = 200

// changes sends rows as they change, as server-sent events with the mark as id.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, err := s.filterOf(r.Context(), q)
	if err != nil {
		return err
	}
	after := catalog.Mark(q.Get("after"))
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		after = catalog.Mark(last)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.drain, cancel)()
	if after == "" {
		s.catchUp(ctx)
		page, err := s.cfg.Directory.List(ctx, catalog.Filter{Limit: 1})
		if err != nil {
			return err
		}
		after = page.Mark
	}
	// An unusable mark is an error with its own status.
	changed := s.cfg.Directory.Changed()
	cs, end, err := s.cfg.Directory.Changes(ctx, f, after, changePage)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{w: w, rc: http.NewResponseController(w)}
	if err := out.write("id: " + string(after) + "\n\n"); err != nil {
		return errAborted
	}
	defer out.keepAlive(ctx, cancel)()
	return s.sendChanges(ctx, out, f, cs, end, changed)
}

// sendChanges sends cs and then what changes after after, until ctx ends. changed
// is closed when there is more than cs.
func (s *Server) sendChanges(ctx context.Context, out *eventWriter, f catalog.Filter, cs []catalog.Change, after catalog.Mark, changed <-chan struct{}) error {
	mine := callerOf(ctx)
	for {
		for _, c := range cs {
			if !mine.Reaches(string(c.ID)) {
				continue // even its id is not for this caller
			}
			if err := out.change(c); err != nil {
				return errAborted
			}
		}
		if len(cs) < changePage {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil // the follower continues from its mark
			}
		}
		changed = s.cfg.Directory.Changed()
		var err error
		if cs, after, err = s.cfg.Directory.Changes(ctx, f, after, changePage); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return out.problem(err)
		}
	}
}

// change sends one change.
func (e *eventWriter) change(c catalog.Change) error {
	data, err := marshal(api.RowChange(c))
	if err != nil {
		return err
	}
	kind := "row"
	if c.Row == nil {
		kind = "gone"
	}
	return e.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", c.Mark, kind, data))
}

// keepAlive sends keep-alive comments until the returned function is called.
// After that function returns, nothing writes to e.
func (e *eventWriter) keepAlive(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.sendKeepAlives(ctx, cancel)
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(time.Second): // it waits for a follower that does not read
			_ = e.rc.SetWriteDeadline(time.Now())
			<-done
		}
	}
}
