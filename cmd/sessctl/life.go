package main

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// lifeText says whether the holder of a claim seems to be there.
func (a *app) lifeText(l *api.Life) string {
	if l == nil {
		return ""
	}
	switch l.State {
	case api.LifeAlive:
		return "alive, seen " + a.ago(l.Seen)
	case api.LifeSilent:
		return "silent since " + a.when(l.Seen)
	case api.LifeNew:
		return "claimed only " + a.ago(l.Seen)
	}
	return "not known to be alive"
}

// askFirst looks at who holds the head before it is taken over. It returns what
// to ask the log for, and what is known of the holder; or core.ErrFenced where that
// one seems to be at work. own is the writer that this host remembers.
func (a *app) askFirst(ctx context.Context, node *api.Client, id core.SessionID, f claimFlags, own string) (claimFlags, *api.Life, error) {
	hs, err := node.Heads(ctx, string(id))
	if err != nil {
		return f, nil, err
	}
	for _, h := range hs.Heads {
		if h.Head != f.head || h.Claim == nil {
			continue
		}
		if f.takeOver {
			return f, h.Life, nil
		}
		if err := a.runsHere(id, f.head, h.Claim); err != nil {
			return f, h.Life, err
		}
		if h.Life == nil && h.Claim.Writer != own {
			return f, nil, maybeAtWork(id, f.head, h)
		}
		mine := h.Claim.Writer == own && (h.Life == nil || h.Life.State != api.LifeAlive)
		if !mine && h.Life.AtWork() {
			if err := a.leftBehind(ctx, node, id, f.head, h); err != nil {
				return f, h.Life, err
			}
		}
		f.takeOver, f.from = true, h.Claim.Writer
		return f, h.Life, nil
	}
	return f, nil, nil
}

// maybeAtWork is why a head is not taken unasked while it cannot be told whether
// its holder is there.
func maybeAtWork(id core.SessionID, head string, h api.HeadInfo) error {
	held := &core.FencedError{Session: id, Head: head, Holder: h.Claim}
	return hintf(fmt.Errorf("%w; whether it is there cannot be told now", held),
		"try again, or take it from them with: sessctl resume --take-over%s %s", headArg(head), id)
}

// atWork is why a head is not taken from its holder unasked.
func (a *app) atWork(id core.SessionID, head string, h api.HeadInfo) error {
	held := &core.FencedError{Session: id, Head: head, Holder: h.Claim}
	return hintf(fmt.Errorf("%w: %s", held, a.lifeText(h.Life)),
		"ask them to end first, or take it from them with: sessctl resume --take-over%s %s", headArg(head), id)
}
