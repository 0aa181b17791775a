package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const (
	// CheckInterval is how often to check that a claim is still valid.
	CheckInterval = 5 * time.Second
	// claimTimeout bounds how long a line waits for its claim.
	claimTimeout = 5 * time.Second
	// claimGrace is how long a new claim of this host may be unrecorded, because the
	// process that made it, such as sessctl watch, has not saved it yet.
	claimGrace = 2 * time.Second
)

// A claimer keeps the claims on one session's heads while an agent writes to them.
// It claims a head before the first line goes there. It leaves a head to an active
// holder: the lines then go to a separate head, which it claims.
type claimer struct {
	host      *Host
	node      Node
	announcer *session.Announcer
	agent     string
	save      func(own []string) // keeps own for a later run, in case this one is killed

	mu     sync.Mutex
	denied bool // only claims that this host has already are used
	id     core.SessionID
	own    []string               // writers in whose names this host has claimed, or may have
	held   map[string]api.Claimed // by head
	lost   map[string]*core.Claim // heads that others hold; nil if the holder is unknown
	retry  map[string]time.Time   // by head, when to ask again after a refusal
	writes map[string]string      // by head, the writer for the next claim
}

func newClaimer(h *Host, node Node, announcer *session.Announcer, id core.SessionID, agent string, own []string, save func([]string)) *claimer {
	return &claimer{
		host: h, node: node, announcer: announcer, id: id, agent: agent, own: own, save: save,
		held: map[string]api.Claimed{}, lost: map[string]*core.Claim{}, retry: map[string]time.Time{}, writes: map[string]string{},
	}
}

// adopt records a claim that was granted elsewhere.
func (c *claimer) adopt(granted api.Claimed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addOwn(granted.Writer)
	c.record(granted)
}

// deny makes writer claim nothing, until allow is called.
func (c *claimer) deny() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = true
}

func (c *claimer) allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = false
}

// writer returns the writer for lines to a head, and claims the head if necessary.
// It is empty if another holds the head, no node answers, or the session does not
// exist yet.
func (c *claimer) writer(id core.SessionID, head string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id != c.id { // the file belongs to a different session now
		return ""
	}
	if held, ok := c.held[head]; ok {
		return held.Writer
	}
	if time.Now().Before(c.retry[head]) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	if c.denied {
		return c.ownWriter(ctx, head)
	}
	granted, err := c.claim(ctx, head)
	switch {
	case err == nil:
		c.record(granted)
		return granted.Writer
	case errors.Is(err, core.ErrFenced):
		c.lost[head] = HolderOf(err)
		c.retry[head] = time.Now().Add(CheckInterval)
	}
	return ""
}

// ownWriter returns the writer of a claim on head that this host has already, empty
// if it has none. c.mu is held.
func (c *claimer) ownWriter(ctx context.Context, head string) string {
	if len(c.own) == 0 {
		return ""
	}
	hs, err := c.node.Heads(ctx, string(c.id))
	if err != nil {
		return ""
	}
	if holder := follow.HeadHolder(hs, head); holder != nil && slices.Contains(c.own, holder.Writer) {
		return holder.Writer
	}
	return ""
}

// claim claims a head that is free, that this host held before, or whose holder is
// silent. It saves the writer first, so that the claim is known as this host's
// even if the process is killed. c.mu is held.
func (c *claimer) claim(ctx context.Context, head string) (api.Claimed, error) {
	if c.writes[head] == "" {
		c.writes[head] = ulid.Make().String()
		c.addOwn(c.writes[head])
	}
	r := core.ClaimRequest{Head: head, Agent: c.agent, Host: c.host.Name, By: c.host.By, Writer: c.writes[head]}
	granted, err := c.node.Claim(ctx, string(c.id), r)
	holder := HolderOf(err)
	if holder == nil {
		return granted, err
	}
	if c.isOwn(ctx, head, holder) {
		c.addOwn(holder.Writer)
		return api.Claimed{Claim: *holder, Head: head}, nil
	}
	o, _, err := c.host.mayTakeOver(ctx, c.node, c.id, ClaimOptions{Head: head}, "")
	if err != nil {
		return granted, err
	}
	r.TakeOver, r.From = o.TakeOver, o.From
	return c.node.Claim(ctx, string(c.id), r)
}

// isOwn reports whether a claim is this run's, one that this host remembers, or
// one of a node on this host that follows the file itself. c.mu is held.
func (c *claimer) isOwn(ctx context.Context, head string, holder *core.Claim) bool {
	for {
		stored, _, err := c.host.Claims.Load(c.id, head)
		if slices.Contains(c.own, holder.Writer) || err == nil && stored.Writer == holder.Writer {
			return true
		}
		if holder.Host == c.host.Name && strings.HasPrefix(holder.By, "sessnode ") {
			return true
		}
		if holder.Host != c.host.Name || time.Since(holder.Since) > claimGrace || ctx.Err() != nil {
			return false
		}
		time.Sleep(claimGrace / 40)
	}
}

// addOwn records a writer as this host's. c.mu is held.
func (c *claimer) addOwn(writer string) {
	if !slices.Contains(c.own, writer) {
		c.own = append(c.own, writer)
		c.save(c.own)
	}
}

// record records a granted claim. c.mu is held.
func (c *claimer) record(granted api.Claimed) {
	c.held[granted.Head] = granted
	delete(c.lost, granted.Head)
	delete(c.writes, granted.Head)                            // a writer holds a head once
	_ = c.host.Claims.Save(NewStoredClaim(c.id, granted, "")) // otherwise only this process uses the claim
	c.announcer.Add(c.id, granted.Head, granted.Claim)
}

// check drops the claims that are over.
func (c *claimer) check(ctx context.Context) {
	c.mu.Lock()
	held := maps.Clone(c.held)
	c.mu.Unlock()
	for head, claim := range held {
		err := CheckClaim(ctx, c.node, c.id, claim)
		if err == nil || ctx.Err() != nil {
			continue
		}
		c.announcer.Drop(ctx, claim.Writer)
		c.mu.Lock()
		delete(c.held, head)
		c.lost[head] = HolderOf(err)
		_ = c.host.Claims.Forget(c.id, head, claim.Writer) // a stale record is detected when it is used
		c.mu.Unlock()
	}
}

// release releases all claims of this host's writers, including those of a run
// that was killed.
func (c *claimer) release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, held := range c.held {
		c.announcer.Drop(ctx, held.Writer)
	}
	clear(c.held)
	if len(c.own) == 0 {
		return nil
	}
	hs, err := c.node.Heads(ctx, string(c.id))
	if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrDeleted) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, head := range hs.Heads {
		if head.Claim == nil || !slices.Contains(c.own, head.Claim.Writer) {
			continue
		}
		err := c.node.Release(ctx, string(c.id), head.Head, head.Claim.Writer)
		if errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) {
			return err
		}
		_ = c.host.Claims.Forget(c.id, head.Head, head.Claim.Writer) // as in check
	}
	return nil
}

// lostTo returns the holder of a head that this host lost or wanted, nil if
// unknown. lost is false if this host holds the head.
func (c *claimer) lostTo(head string) (by *core.Claim, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by, lost = c.lost[head]
	return by, lost
}
