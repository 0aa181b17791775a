package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// claimWithin bounds how long a line waits for the claim that it is to be
// written from.
const claimWithin = 5 * time.Second

// holds are the claims on one session's heads that this host has while an agent
// writes to it. A head is claimed before the first line goes to it. One that
// another holds who is there is left to them: the follower then puts the lines on
// a head of their own, and that is claimed.
type holds struct {
	a      *app
	node   *api.Client
	herald *session.Herald
	agent  string
	save   func(mine []string) // keeps mine, for a run that comes after this one was killed

	mu   sync.Mutex
	id   core.SessionID
	mine []string               // the writers in whose names this host has claimed, or may have
	held map[string]api.Claimed // by head
	lost map[string]*core.Claim // heads that others have, and who; nil for one who is not known
	ask  map[string]time.Time   // when to ask again for a head that was refused
	next map[string]string      // by head, the writer to claim it with
}

func newHolds(a *app, node *api.Client, herald *session.Herald, id core.SessionID, agent string, mine []string, save func([]string)) *holds {
	return &holds{
		a: a, node: node, herald: herald, id: id, agent: agent, mine: mine, save: save,
		held: map[string]api.Claimed{}, lost: map[string]*core.Claim{}, ask: map[string]time.Time{}, next: map[string]string{},
	}
}

// has takes note of a claim that was granted before.
func (h *holds) has(c api.Claimed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own(c.Writer)
	h.take(c)
}

// writer returns the claim from which lines go to a head, claiming it if need
// be; empty where another has it, or where there is no such session yet.
func (h *holds) writer(id core.SessionID, head string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != h.id { // the file has another session now
		return ""
	}
	if c, ok := h.held[head]; ok {
		return c.Writer
	}
	if time.Now().Before(h.ask[head]) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimWithin)
	defer cancel()
	c, err := h.claim(ctx, head)
	switch {
	case err == nil:
		h.take(c)
		return c.Writer
	case errors.Is(err, core.ErrFenced):
		h.lost[head] = holderOf(err)
		h.ask[head] = time.Now().Add(lookEvery)
	}
	return "" // without a node, or a session, there is nothing to speak from
}

// claim claims a head: one that nobody has, that this host had before, or whose
// holder is silent. The writer is noted first, so that a claim is known as this
// host's own, whenever sessctl is killed.
func (h *holds) claim(ctx context.Context, head string) (api.Claimed, error) {
	if h.next[head] == "" {
		h.next[head] = ulid.Make().String()
		h.own(h.next[head])
	}
	by, host := h.a.whoami()
	r := api.ClaimRequest{Head: head, Agent: h.agent, Host: host, By: by, Writer: h.next[head]}
	c, err := h.node.Claim(ctx, string(h.id), r)
	holder := holderOf(err)
	if holder == nil {
		return c, err
	}
	if h.isOwn(ctx, head, holder) {
		h.own(holder.Writer)
		return api.Claimed{Claim: *holder, Head: head}, nil
	}
	f, _, err := h.a.askFirst(ctx, h.node, h.id, claimFlags{head: head}, "")
	if err != nil {
		return c, err
	}
	r.TakeOver, r.From = f.takeOver, f.from
	return h.node.Claim(ctx, string(h.id), r)
}

// justNow is how young a claim is that somebody else on this host may be about to
// note: sessctl watch sees the same first line.
const justNow = 2 * time.Second

// isOwn reports whether a claim is one of this run's, one that this host
// remembers, or one of a node on this host that follows agents' files itself.
func (h *holds) isOwn(ctx context.Context, head string, holder *core.Claim) bool {
	_, host := h.a.whoami()
	for {
		before, _, err := h.a.claims().load(h.id, head)
		if slices.Contains(h.mine, holder.Writer) || err == nil && before.Writer == holder.Writer {
			return true
		}
		if holder.Host == host && strings.HasPrefix(holder.By, "sessnode ") {
			return true
		}
		if holder.Host != host || time.Since(holder.Since) > justNow || ctx.Err() != nil {
			return false
		}
		time.Sleep(justNow / 40)
	}
}

// own notes a writer as this host's. h.mu is held.
func (h *holds) own(writer string) {
	if !slices.Contains(h.mine, writer) {
		h.mine = append(h.mine, writer)
		h.save(h.mine)
	}
}

// take notes a claim. h.mu is held.
func (h *holds) take(c api.Claimed) {
	h.held[c.Head] = c
	delete(h.lost, c.Head)
	delete(h.next, c.Head)                     // a writer holds a head once
	_ = h.a.claims().save(heldOf(h.id, c, "")) // without it the claim is this process's alone
	h.herald.Hold(h.id, c.Head, c.Claim)
}

// check finds out which claims are over.
func (h *holds) check(ctx context.Context) {
	h.mu.Lock()
	held := maps.Clone(h.held)
	h.mu.Unlock()
	for head, c := range held {
		err := stillHeld(ctx, h.node, h.id, c)
		if err == nil || ctx.Err() != nil {
			continue
		}
		h.herald.Drop(ctx, c.Writer)
		h.mu.Lock()
		delete(h.held, head)
		h.lost[head] = holderOf(err)
		_ = h.a.claims().forget(h.id, head, c.Writer) // a memory that is wrong is found out
		h.mu.Unlock()
	}
}

// release gives up all claims of this host's writers, also those of a run that
// was killed.
func (h *holds) release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.held {
		h.herald.Drop(ctx, c.Writer)
	}
	clear(h.held)
	if len(h.mine) == 0 {
		return nil
	}
	hs, err := h.node.Heads(ctx, string(h.id))
	if err != nil {
		return errUnless(err, core.ErrNotFound, core.ErrDeleted)
	}
	for _, head := range hs.Heads {
		if head.Claim == nil || !slices.Contains(h.mine, head.Claim.Writer) {
			continue
		}
		err := h.node.Release(ctx, string(h.id), head.Head, head.Claim.Writer)
		if unanswered(err) {
			return err
		}
		_ = h.a.claims().forget(h.id, head.Head, head.Claim.Writer) // as in check
	}
	return nil
}

// errUnless returns err unless it is one of those.
func errUnless(err error, those ...error) error {
	for _, that := range those {
		if errors.Is(err, that) {
			return nil
		}
	}
	return err
}

// takenBy is who has a head that this host had, or wanted; false while it has it.
func (h *holds) takenBy(head string) (by *core.Claim, taken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	by, taken = h.lost[head]
	return by, taken
}
