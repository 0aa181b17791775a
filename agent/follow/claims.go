package follow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const (
	// idleAfter is how long a file goes without a line before its head is free
	// for others, where the configuration says nothing.
	idleAfter = 2 * time.Minute
	// claimWithin bounds how long a file waits for a claim, and releaseWithin how
	// long the end of a run waits for claims to be released.
	claimWithin   = 5 * time.Second
	releaseWithin = 5 * time.Second
	// askEvery is how soon a head that another holds is asked for again.
	askEvery = 5 * time.Second
)

// A claim is one that this follower writes from.
type claim struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	// Shared: somebody else on this host made it, and releases it.
	Shared bool `json:"shared,omitempty"`

	used time.Time // when a line came last
	said bool      // others are told that somebody is there
}

type headOf struct {
	session core.SessionID
	head    string
}

// claims are those that a follower makes while lines come, so that others see who
// is at work. They follow what agents do and never hold it up: a line goes to the
// log first, and then its head is claimed.
type claims struct {
	b         *Follower
	announcer *session.Announcer

	mu    sync.Mutex
	on    bool // claims are made: Run runs
	held  map[headOf]*claim
	made  map[string]bool      // writers of claims that are not shared
	over  map[string]bool      // writers that this host remembers, and that hold nothing
	asked map[headOf]time.Time // heads that another holds, and when that was heard
}

func newClaims(b *Follower) *claims {
	c := &claims{
		b: b, announcer: b.cfg.Node.Announcer(), held: map[headOf]*claim{}, made: map[string]bool{}, over: map[string]bool{}, asked: map[headOf]time.Time{},
	}
	for _, h := range b.memory.claims() {
		h.used = time.Now() // what it was at before it ended may go on
		c.held[headOf{h.Session, h.Head}] = &h
		c.made[h.Writer] = !h.Shared
	}
	return c
}

// writer is the claim to write from: the follower's own, or one that this host
// remembers from elsewhere; empty for none.
func (c *claims) writer(key headOf) string {
	if mine := c.known(key); mine.Writer != "" {
		return mine.Writer
	}
	return c.remembered(key)
}

// remembered is the claim on a head that this host has from elsewhere.
func (c *claims) remembered(key headOf) string {
	if c.b.cfg.Writer == nil {
		return ""
	}
	w := c.b.cfg.Writer(key.session, key.head)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over[w] {
		return ""
	}
	return w
}

// want has the head claimed that f's lines go to, after some went there: unless
// another is there who holds it, or the head has gone elsewhere. f.mu is held.
// What goes wrong leaves the head unclaimed, which costs nothing but that others
// do not see who is at work.
func (c *claims) want(ctx context.Context, f *file) {
	p := &f.place
	key := headOf{p.Session, p.Head}
	if !c.shouldAsk(key) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	hs, err := c.b.cfg.Node.Heads(ctx, string(p.Session))
	if err != nil {
		return
	}
	c.dropOthers(ctx, f, hs)
	for _, h := range hs.Heads {
		if h.Head == p.Head && h.Leaf == p.Leaf {
			c.take(ctx, key, p.Dialect, h)
		}
	}
}

// shouldAsk notes that a line came, and reports whether the head is still to be
// claimed.
func (c *claims) shouldAsk(key headOf) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[key]; h != nil && h.said {
		h.used = time.Now()
		return false
	}
	return c.on && time.Since(c.asked[key]) > askEvery
}

// take claims a head, or takes note of who on this host has it.
func (c *claims) take(ctx context.Context, key headOf, agent string, h api.HeadInfo) {
	mine := c.known(key)
	cfg := &c.b.cfg
	if h.Claim != nil && (h.Claim.Writer == mine.Writer || c.isHere(h.Claim) || h.Claim.Writer == c.remembered(key)) {
		c.keep(key, *h.Claim)
		return
	}
	r := api.ClaimRequest{Head: key.head, Agent: agent, Host: cfg.Host, By: cfg.By, Writer: ulid.Make().String()}
	if h.Claim != nil {
		if h.Life == nil || h.Life.State != api.LifeSilent {
			c.refused(key)
			return
		}
		r.TakeOver, r.From = true, h.Claim.Writer // it is not there any more
	}
	c.note(key, r.Writer) // before it is asked for: this may end before the answer
	got, err := cfg.Node.Claim(ctx, string(key.session), r)
	if err != nil {
		if !transient(err) {
			c.drop(key, r.Writer)
			c.refused(key)
		}
		return
	}
	c.keep(key, got.Claim)
	if cfg.Claimed != nil {
		cfg.Claimed(key.session, got)
	}
}

// isHere reports whether a claim was made on this host: what writes this file and
// the follower are then one.
func (c *claims) isHere(holder *core.Claim) bool {
	return holder.Host != "" && holder.Host == c.b.cfg.Host
}

func (c *claims) known(key headOf) claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[key]; h != nil {
		return *h
	}
	return claim{}
}

func (c *claims) refused(key headOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[key] = time.Now()
}

// note remembers a claim that is about to be asked for.
func (c *claims) note(key headOf, writer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[key] = &claim{Session: key.session, Head: key.head, Writer: writer, used: time.Now()}
	c.made[writer] = true
	c.save()
}

// keep takes note of a claim that there is, and lets others see it.
func (c *claims) keep(key headOf, granted core.Claim) {
	c.mu.Lock()
	h := c.held[key]
	if h == nil || h.Writer != granted.Writer {
		h = &claim{Session: key.session, Head: key.head, Writer: granted.Writer, Shared: !c.made[granted.Writer]}
		c.held[key] = h
		c.save()
	}
	tell := c.on && !h.said
	h.used, h.said = time.Now(), c.on
	delete(c.asked, key)
	c.mu.Unlock()
	if tell {
		c.announcer.Add(key.session, key.head, granted)
	}
}

// drop forgets a claim, which is over or another's business.
func (c *claims) drop(key headOf, writer string) {
	c.mu.Lock()
	h := c.held[key]
	if h == nil || h.Writer != writer {
		c.mu.Unlock()
		return
	}
	delete(c.held, key)
	c.save()
	c.mu.Unlock()
	c.announcer.Drop(atOnce, writer)
	if c.b.cfg.Over != nil && !h.Shared {
		c.b.cfg.Over(key.session, key.head, writer)
	}
}

// atOnce is the context of who does not wait.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// save remembers the claims. c.mu is held.
func (c *claims) save() {
	all := make([]claim, 0, len(c.held))
	for _, h := range c.held {
		all = append(all, *h)
	}
	if err := c.b.memory.saveClaims(all); err != nil {
		c.b.cfg.Logger.Warn("the claims that are held cannot be noted", "err", err)
	}
}

// prove has the claim from which f's lines are written be one that the session
// knows: one that was taken over or given up is dropped, and one that somebody
// else on this host has is shared.
func (c *claims) prove(ctx context.Context, f *file) error {
	key := headOf{f.place.Session, f.place.Head}
	if key.session == "" {
		return nil
	}
	writer := c.writer(key)
	if writer == "" && !c.b.cfg.Claims {
		return nil
	}
	hs, err := c.b.cfg.Node.Heads(ctx, string(key.session))
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.dropOthers(ctx, f, hs)
	holder := holderIn(hs, key.head)
	if writer != "" && (holder == nil || holder.Writer != writer) {
		c.mu.Lock()
		c.over[writer] = true
		c.mu.Unlock()
	}
	if holder != nil && c.b.cfg.Claims && c.isHere(holder) {
		c.keep(key, *holder)
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

// isOver reports whether err says that the claim of writer on head is over, or that
// one of this host's has come in between: then the file is to be looked at anew, from
// the claim that there is by then. Of another head's claim it says nothing.
func (c *claims) isOver(head, writer string, err error) bool {
	if !errors.Is(err, core.ErrFenced) {
		return false
	}
	e, ok := errors.AsType[*api.Error](err)
	if ok && e.Detail.Head != "" && e.Detail.Head != head {
		return false
	}
	return writer != "" || ok && c.b.cfg.Claims && e.Detail.Holder != nil && c.isHere(e.Detail.Holder)
}

// dropOthers drops what is over of the claims on f's session, and releases those
// on heads to which its lines do not go any more.
func (c *claims) dropOthers(ctx context.Context, f *file, hs api.Heads) {
	holder := map[string]string{}
	for _, h := range hs.Heads {
		if h.Claim != nil {
			holder[h.Head] = h.Claim.Writer
		}
	}
	for _, h := range c.all() {
		switch {
		case h.Session != f.place.Session:
		case holder[h.Head] != h.Writer:
			c.drop(headOf{h.Session, h.Head}, h.Writer)
		case h.Head != f.place.Head && !c.b.goesTo(f, h.Session, h.Head):
			_ = c.release(ctx, h) // tried again when it is idle
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

// release gives a claim up. One that another on this host made is only not told
// of any more.
func (c *claims) release(ctx context.Context, h claim) error {
	if !h.Shared {
		if err := c.b.cfg.Node.Release(ctx, string(h.Session), h.Head, h.Writer); err != nil && transient(err) {
			return err
		}
	}
	c.drop(headOf{h.Session, h.Head}, h.Writer)
	if !h.Shared {
		c.mu.Lock()
		delete(c.made, h.Writer) // not before: an answer may be on its way that grants it
		c.mu.Unlock()
	}
	return nil
}

// run gives up claims on heads to which no line has come for a while, until ctx
// ends.
func (c *claims) run(ctx context.Context) {
	tick := time.NewTicker(max(c.b.cfg.Idle/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, h := range c.all() {
			if time.Since(h.used) < c.b.cfg.Idle {
				continue
			}
			one, cancel := context.WithTimeout(ctx, claimWithin)
			_ = c.release(one, h) // it is tried again
			cancel()
		}
	}
}

// begin lets claims be made, if they are asked for.
func (c *claims) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = c.b.cfg.Claims
}

// end gives all claims up. Those that no node takes back are remembered, for the
// next run.
func (c *claims) end(ctx context.Context) {
	c.mu.Lock()
	c.on = false
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	for _, h := range c.all() {
		if c.release(ctx, h) != nil {
			c.announcer.Drop(atOnce, h.Writer)
		}
	}
	c.announcer.Drop(ctx, "") // waits until others are told
}

// goesTo reports whether another file than f has its lines on a head.
func (b *Follower) goesTo(f *file, id core.SessionID, head string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.files {
		if other == f {
			continue
		}
		other.show.Lock()
		same := other.shown.Session == id && other.shown.Head == head
		other.show.Unlock()
		if same {
			return true
		}
	}
	return false
}
