package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

const (
	// BeatEvery is how often a process that is present says so.
	BeatEvery = 10 * time.Second
	// SilentAfter is how long one that said so counts as alive.
	SilentAfter = 3 * BeatEvery
	// MaxHolds bounds the claims that one process tells of: its latest ones.
	MaxHolds = 64
	// maxWho bounds each of a presence's words, in bytes.
	maxWho = 256
	// leaveWithin bounds how long the end of the last claim waits for the
	// process to have said that it is gone.
	leaveWithin = 2 * time.Second
)

// A Presence is what a process says of itself: that it is there, and which
// claims it has. It is a hint for people and for whoever wants to take over;
// no write depends on it.
type Presence struct {
	ID    string    `json:"id,omitempty"` // of the process; of the characters of a session's id
	Agent string    `json:"agent,omitempty"`
	Host  string    `json:"host,omitempty"`
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"` // by its own clock
	Holds []Hold    `json:"holds,omitempty"`
	More  int       `json:"more,omitempty"` // claims that it has beside those, older ones
}

// A Hold is a claim that a process has.
type Hold struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
}

// Check returns core.ErrInvalid unless p is small and names what could be there.
func (p *Presence) Check() error {
	if _, err := core.ParseSessionID(p.ID); err != nil {
		return fmt.Errorf("the id of a process is like a session's: %w", err)
	}
	for _, word := range []string{p.Agent, p.Host, p.By} {
		if len(word) > maxWho {
			return fmt.Errorf("process %s: a word of %d bytes, %d are allowed: %w", p.ID, len(word), maxWho, core.ErrInvalid)
		}
	}
	if len(p.Holds) > MaxHolds {
		return fmt.Errorf("process %s tells of %d claims, %d are allowed: %w", p.ID, len(p.Holds), MaxHolds, core.ErrInvalid)
	}
	if p.More < 0 {
		return fmt.Errorf("process %s has %d claims more than it tells of: %w", p.ID, p.More, core.ErrInvalid)
	}
	for _, h := range p.Holds {
		if err := h.check(); err != nil {
			return fmt.Errorf("process %s: %w", p.ID, err)
		}
	}
	return nil
}

func (h Hold) check() error {
	if _, err := core.ParseSessionID(string(h.Session)); err != nil {
		return err
	}
	if err := core.CheckHead(h.Head); err != nil {
		return err
	}
	if _, err := core.ParseSessionID(h.Writer); err != nil {
		return fmt.Errorf("a writer's name is like a session's: %w", err)
	}
	return nil
}

// A Herald tells others that this process is there while it has claims. What
// cannot be told is not: lost presence changes nothing. Its methods may be
// called from several goroutines; a nil Herald tells nobody.
type Herald struct {
	// Beat tells that the process is there, Leave that it has gone. Both are
	// required.
	Beat  func(context.Context, Presence) error
	Leave func(ctx context.Context, id string) error

	mu   sync.Mutex
	me   Presence
	wake chan struct{} // something changed
	done chan struct{} // closed when the process has left; nil while it is not present
}

// Hold adds a claim. With the first one a goroutine begins to beat; it ends
// with the last.
func (h *Herald) Hold(id core.SessionID, head string, c core.Claim) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.me.Holds = append(h.me.Holds[:len(h.me.Holds):len(h.me.Holds)], Hold{Session: id, Head: head, Writer: c.Writer})
	if h.done != nil {
		h.poke()
		return
	}
	h.me = Presence{ID: newKey(), Agent: c.Agent, Host: c.Host, By: c.By, Since: time.Now().UTC(), Holds: h.me.Holds}
	h.wake, h.done = make(chan struct{}, 1), make(chan struct{})
	go h.run(h.wake, h.done)
}

// Drop takes the claim of writer away. After the last one it waits a moment for
// others to have been told.
func (h *Herald) Drop(ctx context.Context, writer string) {
	if h == nil {
		return
	}
	done := h.drop(writer)
	if done == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// drop returns what to wait for where no claim is left.
func (h *Herald) drop(writer string) (done chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []Hold
	for _, hold := range h.me.Holds {
		if hold.Writer != writer {
			left = append(left, hold)
		}
	}
	h.me.Holds = left
	if h.done != nil {
		h.poke()
	}
	if len(left) > 0 {
		return nil
	}
	return h.done
}

func (h *Herald) poke() {
	select {
	case h.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run beats until no claim is left, and then leaves.
func (h *Herald) run(wake <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for {
		me, there := h.now()
		ctx, cancel := context.WithTimeout(context.Background(), BeatEvery)
		if !there {
			_ = h.Leave(ctx, me.ID) // it will be silent soon
			cancel()
			return
		}
		_ = h.Beat(ctx, me) // the next one may get through
		cancel()
		select {
		case <-tick.C:
		case <-wake:
		}
	}
}

// now is what there is to tell, of the latest claims; not there, where no claim is
// left.
func (h *Herald) now() (me Presence, there bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.me.Holds) == 0 {
		h.done = nil
		return h.me, false
	}
	me = h.me
	me.More = max(0, len(me.Holds)-MaxHolds)
	me.Holds = me.Holds[me.More:]
	return me, true
}
