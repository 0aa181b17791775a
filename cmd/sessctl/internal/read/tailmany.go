package read

import (
	"context"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// tailMany shows the records of several sessions, and with follow the new ones.
// Without args it follows all sessions that o selects, from now on.
func (a app) tailMany(ctx context.Context, args []string, o catalog.Filter, follow bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	t := &manyTail{a: a, node: node, shown: map[core.SessionID]uint64{}}
	for _, arg := range args {
		_, id, err := a.InLog(ctx, arg)
		if err != nil {
			return err
		}
		t.ids = append(t.ids, string(id))
	}
	if !follow {
		return t.past(ctx)
	}
	feed := client.FeedOptions{Sessions: t.ids, Filter: o}
	err = node.FollowMany(ctx, feed, func(ev client.FeedEvent) error { return t.take(ctx, ev) })
	return endOfTail(err)
}

// A manyTail shows several sessions. It reads their stored records after the feed
// of new ones is open, so that none is missed.
type manyTail struct {
	a     app
	node  *client.Client
	ids   []string // of the arguments
	begun bool
	shown map[core.SessionID]uint64 // seq of the last record that was shown
}

func (t *manyTail) take(ctx context.Context, ev client.FeedEvent) error {
	switch {
	case ev.Lost != nil:
		t.a.Notef("records of session %s were truncated before they were read: %s; see: sessctl tail %s", ev.Session, ev.Lost.Detail, ev.Session)
		return nil
	case ev.Kind != "":
		return t.show(ev.Event)
	case t.begun:
		return nil
	}
	// If it fails, the feed is opened again, and the stored records are read again.
	err := t.past(ctx)
	t.begun = err == nil
	return err
}

// past shows the stored records of the named sessions.
func (t *manyTail) past(ctx context.Context) error {
	for _, id := range t.ids {
		err := t.node.Follow(ctx, id, core.Cursor{}, false, func(ev api.Event) error {
			ev.Session = core.SessionID(id)
			return t.show(ev)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *manyTail) show(ev api.Event) error {
	if ev.Seq <= t.shown[ev.Session] {
		return nil // past has shown it
	}
	if len(t.ids) > 0 {
		t.shown[ev.Session] = ev.Seq
	}
	return t.a.showEvent(ev)
}
