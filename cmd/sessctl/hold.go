package main

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

const (
	// lookEvery is how often it is looked whether a claim that is held still
	// stands.
	lookEvery = 5 * time.Second
	// endWithin bounds how long giving a claim up may take at the end.
	endWithin = 10 * time.Second
)

// hold is present with a claim until ctx ends or somebody takes the head over,
// and then gives it up.
func (a *app) hold(ctx context.Context, node *api.Client, id core.SessionID, c api.Claimed) error {
	herald := node.Herald()
	herald.Hold(id, c.Head, c.Claim)
	lost := a.watchClaim(ctx, node, id, c)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	herald.Drop(last, c.Writer)
	if lost == nil {
		if err := node.Release(last, string(id), c.Head, c.Writer); err != nil {
			return hintf(err, "the claim stays, give it up with: sessctl release%s %s", headArg(c.Head), id)
		}
	}
	if err := a.claims().forget(id, c.Head, c.Writer); err != nil {
		a.notef("%v", err)
	}
	return lost
}

// watchClaim returns nil once ctx has ended, or how the claim was lost before.
// A node that does not answer is asked again.
func (a *app) watchClaim(ctx context.Context, node *api.Client, id core.SessionID, c api.Claimed) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := stillHeld(ctx, node, id, c); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// stillHeld returns how the claim was lost, where the node knows that it was.
func stillHeld(ctx context.Context, node *api.Client, id core.SessionID, c api.Claimed) error {
	hs, err := node.Heads(ctx, string(id))
	if errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrNotFound) {
		return err
	}
	if err != nil {
		return nil
	}
	if holder := holderIn(hs, c.Head); holder == nil || holder.Writer != c.Writer {
		return &core.FencedError{Session: id, Head: c.Head, Holder: holder}
	}
	return nil
}

// holderIn is who holds a head, nil for nobody.
func holderIn(hs api.Heads, head string) *core.Claim {
	for _, h := range hs.Heads {
		if h.Head == head {
			return h.Claim
		}
	}
	return nil
}
