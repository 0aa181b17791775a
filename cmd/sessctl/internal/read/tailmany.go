package read

import (
	"context"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// tailMany shows the records of several sessions, and with follow what comes
// then. Without names it follows all that o lets pass, from now on.
func (a app) tailMany(ctx context.Context, args []string, o client.ListOptions, follow bool) error {
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

// A manyTail shows several sessions: first what there is of them, once the feed of
// what comes stands, so that nothing is missed between the two.
type manyTail struct {
	a     app
	node  *client.Client
	ids   []string // those that were named
	begun bool
	shown map[core.SessionID]uint64 // seq of the last record shown of those
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
	// Where it fails, the feed is asked for anew, and then the past once more.
	err := t.past(ctx)
	t.begun = err == nil
	return err
}

// past shows what there is of the sessions that were named.
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
		return nil // it came while the past was read
	}
	if len(t.ids) > 0 {
		t.shown[ev.Session] = ev.Seq
	}
	return t.a.showEvent(ev)
}
