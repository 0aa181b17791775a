package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
)

// FeedOptions select the sessions to follow: the named ones, at most 100, or
// those that match Filter; by default all.
type FeedOptions struct {
	Sessions []string
	Filter   catalog.Filter
	After    string // the Place of an earlier event; empty for from now on
}

// A FeedEvent is one record of several sessions as a follower gets it.
type FeedEvent struct {
	// Place is the position to continue from. The first event of a feed has nothing
	// else.
	Place string
	api.Event
	// Lost says that records of Session could not be sent: read that session again.
	// There is no Event then.
	Lost *api.Detail
}

// FollowMany calls f with the records of several sessions as they are stored: in
// order and without gaps within a session. It reconnects when the stream breaks,
// until f fails or ctx ends. It returns core.ErrLost if the log no longer has the
// records after o.After.
func (c *Client) FollowMany(ctx context.Context, o FeedOptions, f func(FeedEvent) error) error {
	for {
		err := c.followManyOnce(ctx, &o, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := retry.Wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) followManyOnce(ctx context.Context, o *FeedOptions, f func(FeedEvent) error) error {
	q := listQuery(o.Filter)
	for _, id := range o.Sessions {
		q.Add("session", id)
	}
	h := http.Header{"Accept": {"text/event-stream"}}
	headIf(h, "Last-Event-ID", o.After)
	r, err := c.send(ctx, http.MethodGet, "/v1/events", q, h, nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return readSSE(r.Body, func(kind, id string, data []byte) error {
		ev := FeedEvent{Place: id}
		switch {
		case kind == "problem":
			return readEventProblem(data)
		case len(data) == 0:
		case kind == "lost":
			var l api.FeedLoss
			if err := json.Unmarshal(data, &l); err != nil {
				return fmt.Errorf("an event that is no JSON: %w", err)
			}
			ev.Session, ev.Lost = l.Session, &l.Problem
		default:
			if err := json.Unmarshal(data, &ev.Event); err != nil {
				return fmt.Errorf("an event that is no JSON: %w", err)
			}
		}
		if err := f(ev); err != nil {
			return err
		}
		o.After = id
		return nil
	})
}
