package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// A RowChange is a session whose row changed, as GET /v1/sessions/changes sends
// it.
type RowChange struct {
	ID core.SessionID `json:"id"`
	// Row is what it is now; nil where it is none that was asked for, or is gone.
	Row  *Row `json:"row,omitempty"`
	Mark Mark `json:"mark"` // to go on from
}

// changePage is how many changes are read at once.
const changePage = 200

// changes sends rows as they change, as server-sent events, each with its mark
// as id.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, err := s.filterOf(r.Context(), q)
	if err != nil {
		return err
	}
	after := Mark(q.Get("after"))
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		after = Mark(last)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.drain, cancel)()
	if after == "" {
		s.catchUp(ctx)
		page, err := s.cfg.Directory.List(ctx, materializer.Filter{Limit: 1})
		if err != nil {
			return err
		}
		after = page.Mark
	}
	// A mark that is of no use is told with a status of its own.
	changed := s.cfg.Directory.Changed()
	cs, end, err := s.cfg.Directory.Changes(ctx, f, after, changePage)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{w: w, rc: http.NewResponseController(w)}
	if err := out.write("id: " + string(after) + "\n\n"); err != nil {
		return errBroken
	}
	defer out.keepAlive(ctx, cancel)()
	return s.sendChanges(ctx, out, f, cs, end, changed)
}

// sendChanges sends cs and what comes behind them, until ctx ends. changed is
// closed when there is more than cs.
func (s *Server) sendChanges(ctx context.Context, out *eventWriter, f materializer.Filter, cs []materializer.Change, after Mark, changed <-chan struct{}) error {
	mine := callerOf(ctx)
	for {
		for _, c := range cs {
			if !mine.Reaches(string(c.ID)) {
				continue // that it changed is told with its id
			}
			if err := out.change(c); err != nil {
				return errBroken
			}
		}
		if len(cs) < changePage {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil // the follower goes on from its mark
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
func (e *eventWriter) change(c materializer.Change) error {
	data, err := marshal(RowChange(c))
	if err != nil {
		return err
	}
	kind := "row"
	if c.Row == nil {
		kind = "gone"
	}
	return e.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", c.Mark, kind, data))
}

// keepAlive sends signs of life until the returned function is called. When
// that returns, nothing writes any more.
func (e *eventWriter) keepAlive(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		e.beat(ctx, cancel)
	}()
	return func() {
		cancel()
		select {
		case <-beating:
		case <-time.After(time.Second): // it is stuck in a follower that takes nothing
			_ = e.rc.SetWriteDeadline(time.Now())
			<-beating
		}
	}
}

// Changes calls f with each row that changes after a mark, reconnecting when the
// stream breaks, until f or ctx ends it. An empty mark means now. core.ErrLost
// where the node does not know the mark, as after it made its directory again,
// or because it is another node: list anew and go on from the new mark.
func (c *Client) Changes(ctx context.Context, o ListOptions, after Mark, f func(RowChange) error) error {
	for {
		err := c.changesOnce(ctx, o, &after, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) changesOnce(ctx context.Context, o ListOptions, after *Mark, f func(RowChange) error) error {
	o.After, o.Limit = "", 0
	q := listQuery(o)
	setIf(q, "after", string(*after))
	r, err := c.send(ctx, http.MethodGet, "/v1/sessions/changes", q, http.Header{"Accept": {"text/event-stream"}}, nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return readSSE(r.Body, func(kind, id string, data []byte) error {
		if id != "" && len(data) == 0 {
			*after = Mark(id) // where an empty mark was
			return nil
		}
		if kind == "problem" {
			return readEventProblem(data)
		}
		var ch RowChange
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("a change that is no JSON: %w", err)
		}
		if err := f(ch); err != nil {
			return err
		}
		*after = ch.Mark
		return nil
	})
}
