package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const (
	// defaultIdle is how long after the last line a claim is released.
	defaultIdle = 2 * time.Minute
	// turnIdle replaces it if the agent has waited for its user since that line.
	turnIdle = 3 * time.Second
	// quietAfter is how long after the last line a claim is no longer announced, so
	// that other writers can take the head over.
	quietAfter = 10 * time.Second
	// claimTimeout bounds how long a file waits for a claim.
	claimTimeout = 5 * time.Second
	// releaseTimeout bounds how long the end of Run waits for claims to be released.
	releaseTimeout = 5 * time.Second
	// claimRetry is how soon a head that another writer holds is asked for again.
	claimRetry = 5 * time.Second
)

// A claim is one under which lines are written.
type claim struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	// Shared: another process of this host made it, and releases it.
	Shared bool `json:"shared,omitempty"`

	used      time.Time // when the last line came
	turnEnded bool      // since then the agent waits for its user
	announced bool      // others see it
}

// isIdle reports whether the claim can be released, if idle is how long the agent
// may pause.
func (c claim) isIdle(idle time.Duration) bool {
	if c.turnEnded {
		idle = min(idle, turnIdle)
	}
	return time.Since(c.used) >= idle
}

func (c claim) isQuiet() bool { return time.Since(c.used) >= quietAfter }

func (c claim) key() headKey { return headKey{c.Session, c.Head} }

type headKey struct {
	session core.SessionID
	head    string
}

// claims are the claims that a follower makes while lines come, so that others see
// the writer. Lines do not wait for them: a line is stored first, and then its head
// is claimed.
type claims struct {
	fl        *Follower
	announcer *session.Announcer

	mu      sync.Mutex
	on      bool // Run runs, and claims are requested
	held    map[headKey]*claim
	made    map[string]bool       // writers of claims that are not shared
	over    map[string]bool       // writers that this host remembers, and whose claims are over
	refused map[headKey]time.Time // heads that others hold, and when that was found out
}

func newClaims(fl *Follower) *claims {
	c := &claims{
		fl: fl, announcer: fl.cfg.Node.Announcer(), held: map[headKey]*claim{}, made: map[string]bool{}, over: map[string]bool{}, refused: map[headKey]time.Time{},
	}
	for _, h := range fl.state.claims() {
		h.used = time.Now() // the agent may still be writing
		c.held[h.key()] = &h
		c.made[h.Writer] = !h.Shared
	}
	return c
}

// writer returns the writer for lines to a head: that of the follower's claim, or
// of one that this host remembers from elsewhere; else empty.
func (c *claims) writer(key headKey) string {
	if own := c.get(key); own.Writer != "" {
		return own.Writer
	}
	return c.remembered(key)
}

// remembered returns the writer of a claim that this host has from elsewhere.
func (c *claims) remembered(key headKey) string {
	if c.fl.cfg.Writer == nil {
		return ""
	}
	w := c.fl.cfg.Writer(key.session, key.head)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over[w] {
		return ""
	}
	return w
}

// want claims the head that f's lines go to, after lines were stored there. If that
// fails, the head stays unclaimed, and others do not see the writer. f.mu is held.
func (c *claims) want(ctx context.Context, f *file) {
	p := &f.place
	key := headKey{p.Session, p.Head}
	if !c.isWanted(key, f.turnEnded) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	hs, err := c.fl.cfg.Node.Heads(ctx, string(p.Session))
	if err != nil {
		return
	}
	c.dropOthers(ctx, f, hs)
	for _, h := range hs.Heads {
		if h.Head == p.Head && h.Leaf == p.Leaf {
			c.take(ctx, key, p.Dialect, h)
			c.isWanted(key, f.turnEnded)
		}
	}
}

// isWanted records that a line came, and whether it ended the agent's turn, and
// reports whether the head must be claimed.
func (c *claims) isWanted(key headKey, turnEnded bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[key]; h != nil && h.announced {
		h.used, h.turnEnded = time.Now(), turnEnded
		return false
	}
	return c.on && time.Since(c.refused[key]) > claimRetry
}

// take claims a head, or shares the claim that this host has on it.
func (c *claims) take(ctx context.Context, key headKey, agent string, h api.HeadInfo) {
	cfg := &c.fl.cfg
	r := core.ClaimRequest{Head: key.head, Agent: agent, Host: cfg.Host, By: cfg.By}
	switch decideClaim(h, c.get(key).Writer, c.remembered(key), cfg.Host) {
	case claimShare:
		c.keep(key, *h.Claim)
		return
	case claimLeave:
		c.refuse(key)
		return
	case claimOver:
		r.TakeOver, r.From = true, h.Claim.Writer
	}
	r.Writer = ulid.Make().String()
	c.note(key, r.Writer) // before the request: the process may end before the answer
	got, err := cfg.Node.Claim(ctx, string(key.session), r)
	if err != nil {
		if !isTransient(err) {
			c.drop(key, r.Writer)
			c.refuse(key)
		}
		return
	}
	c.keep(key, got.Claim)
	if cfg.Claimed != nil {
		cfg.Claimed(key.session, got)
	}
}

// get returns the claim on a head, the zero claim if there is none.
func (c *claims) get(key headKey) claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[key]; h != nil {
		return *h
	}
	return claim{}
}

func (c *claims) refuse(key headKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[key] = time.Now()
}

// note saves a claim that is about to be requested.
func (c *claims) note(key headKey, writer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[key] = &claim{Session: key.session, Head: key.head, Writer: writer, used: time.Now()}
	c.made[writer] = true
	c.save()
}

// keep records a claim that exists, and announces it.
func (c *claims) keep(key headKey, granted core.Claim) {
	c.mu.Lock()
	h := c.held[key]
	if h == nil || h.Writer != granted.Writer {
		h = &claim{Session: key.session, Head: key.head, Writer: granted.Writer, Shared: !c.made[granted.Writer]}
		c.held[key] = h
		c.save()
	}
	announce := c.on && !h.announced
	h.used, h.announced = time.Now(), c.on
	delete(c.refused, key)
	c.mu.Unlock()
	if announce {
		c.announcer.Add(key.session, key.head, granted)
	}
}

// drop forgets a claim that is over or was released.
func (c *claims) drop(key headKey, writer string) {
	c.mu.Lock()
	h := c.held[key]
	if h == nil || h.Writer != writer {
		c.mu.Unlock()
		return
	}
	delete(c.held, key)
	c.save()
	c.mu.Unlock()
	c.announcer.Drop(canceled, writer)
	if c.fl.cfg.Over != nil && !h.Shared {
		c.fl.cfg.Over(key.session, key.head, writer)
	}
}

// canceled is a context for callers that do not wait.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// save saves the claims. c.mu is held.
func (c *claims) save() {
	all := make([]claim, 0, len(c.held))
	for _, h := range c.held {
		all = append(all, *h)
	}
	if err := c.fl.state.saveClaims(all); err != nil {
		c.fl.cfg.Logger.Warn("the claims cannot be saved", "err", err)
	}
}

// verify checks that the session knows the claim under which f's lines are
// written. It drops a claim that is over, and shares a claim of this host.
func (c *claims) verify(ctx context.Context, f *file) error {
	key := headKey{f.place.Session, f.place.Head}
	if key.session == "" {
		return nil
	}
	writer := c.writer(key)
	if writer == "" && !c.fl.cfg.Claims {
		return nil
	}
	hs, err := c.fl.cfg.Node.Heads(ctx, string(key.session))
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.dropOthers(ctx, f, hs)
	holder := HeadHolder(hs, key.head)
	if writer != "" && (holder == nil || holder.Writer != writer) {
		c.mu.Lock()
		c.over[writer] = true
		c.mu.Unlock()
	}
	if holder != nil && c.fl.cfg.Claims && isLocal(holder, c.fl.cfg.Host) {
		c.keep(key, *holder)
	}
	return nil
}

// isOver reports whether err ends the claim of writer on head; see endsClaim.
func (c *claims) isOver(head, writer string, err error) bool {
	return endsClaim(head, writer, c.fl.cfg.Host, c.fl.cfg.Claims, err)
}

// dropOthers drops the claims on f's session that are over, and releases those on
// heads to which its lines do not go any more.
func (c *claims) dropOthers(ctx context.Context, f *file, hs api.Heads) {
	for _, h := range c.all() {
		if h.Session != f.place.Session {
			continue
		}
		switch holder := HeadHolder(hs, h.Head); {
		case holder == nil || holder.Writer != h.Writer:
			c.drop(h.key(), h.Writer)
		case h.Head != f.place.Head && !c.fl.anyOther(f, func(p place) bool { return p.Session == h.Session && p.Head == h.Head }):
			_ = c.release(ctx, h) // retried when it is idle
		}
	}
}

func (c *claims) all() []claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]claim, 0, len(c.held))
	for _, h := range c.held {
		out = append(out, *h)
	}
	return out
}

// release releases a claim. A shared claim is only dropped.
func (c *claims) release(ctx context.Context, h claim) error {
	if !h.Shared {
		c.reportTakenOver(ctx, h)
		if err := c.fl.cfg.Node.Release(ctx, string(h.Session), h.Head, h.Writer); err != nil && isTransient(err) {
			return err
		}
	}
	c.drop(h.key(), h.Writer)
	if !h.Shared {
		c.mu.Lock()
		delete(c.made, h.Writer) // only now: a delayed answer may have granted it
		c.mu.Unlock()
	}
	return nil
}

// reportTakenOver reports that another writer took the head over.
func (c *claims) reportTakenOver(ctx context.Context, h claim) {
	hs, err := c.fl.cfg.Node.Heads(ctx, string(h.Session))
	if err != nil {
		return
	}
	if now := HeadHolder(hs, h.Head); now != nil && now.Writer != h.Writer {
		c.fl.notify(Notice{Kind: TakenOver, Session: h.Session, Head: h.Head, Text: fmt.Sprintf(
			"%s took over session %s: continue it there, or take it back with: sessctl resume %s", now.Name(), h.Session, h.Session)})
	}
}

// run releases idle claims until ctx ends, and withdraws the announcement of quiet
// ones.
func (c *claims) run(ctx context.Context) {
	tick := time.NewTicker(max(min(c.fl.cfg.Idle, turnIdle)/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, h := range c.all() {
			if h.isQuiet() && h.announced {
				c.withdraw(h)
			}
			if !h.isIdle(c.fl.cfg.Idle) {
				continue
			}
			one, cancel := context.WithTimeout(ctx, claimTimeout)
			_ = c.release(one, h) // retried
			cancel()
		}
	}
}

// withdraw stops announcing a claim, until the next line comes.
func (c *claims) withdraw(h claim) {
	c.mu.Lock()
	if now := c.held[h.key()]; now != nil && now.Writer == h.Writer {
		now.announced = false
	}
	c.mu.Unlock()
	c.announcer.Drop(canceled, h.Writer)
}

// begin enables claims, if they are configured.
func (c *claims) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = c.fl.cfg.Claims
}

// end releases all claims. Those that cannot be released are kept for the next Run.
func (c *claims) end(ctx context.Context) {
	c.mu.Lock()
	c.on = false
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for _, h := range c.all() {
		if c.release(ctx, h) != nil {
			c.announcer.Drop(canceled, h.Writer)
		}
	}
	c.announcer.Drop(ctx, "") // waits until others know
}
