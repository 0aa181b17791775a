package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

const (
	// HeartbeatEvery is the interval of a process's heartbeats.
	HeartbeatEvery = 10 * time.Second
	// SilentAfter is how long a process counts as alive after a heartbeat.
	SilentAfter = 3 * HeartbeatEvery
	// MaxHolds is how many claims a heartbeat may list: the latest ones.
	MaxHolds = 64
	// maxWho bounds each text of a presence, in bytes.
	maxWho = 256
	// leaveWithin bounds how long Drop waits for Leave after the last claim.
	leaveWithin = 2 * time.Second
)

// A Presence is a process's heartbeat: it says that the process runs, and which
// claims it has. It is a hint for people and for writers that want to take over; no
// write depends on it.
type Presence struct {
	ID    string      `json:"id,omitempty"` // of the process; of the characters of a session id
	Agent string      `json:"agent,omitempty"`
	Host  string      `json:"host,omitempty"`
	By    string      `json:"by,omitempty"`
	Since time.Time   `json:"since,omitzero"` // by the process's clock
	Holds []HeldClaim `json:"holds,omitempty"`
	More  int         `json:"more,omitempty"` // number of older claims that are not listed
}

// A HeldClaim is a claim of a process.
type HeldClaim struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
}

// Check returns core.ErrInvalid if p is too large or contains an invalid name.
func (p *Presence) Check() error {
	if _, err := core.ParseSessionID(p.ID); err != nil {
		return fmt.Errorf("process id: %w", err)
	}
	for _, word := range []string{p.Agent, p.Host, p.By} {
		if len(word) > maxWho {
			return fmt.Errorf("process %s: agent, host or by has %d bytes, %d are allowed: %w", p.ID, len(word), maxWho, core.ErrInvalid)
		}
	}
	if len(p.Holds) > MaxHolds {
		return fmt.Errorf("process %s lists %d claims, %d are allowed: %w", p.ID, len(p.Holds), MaxHolds, core.ErrInvalid)
	}
	if p.More < 0 {
		return fmt.Errorf("process %s: more is %d: %w", p.ID, p.More, core.ErrInvalid)
	}
	for _, h := range p.Holds {
		if err := h.check(); err != nil {
			return fmt.Errorf("process %s: %w", p.ID, err)
		}
	}
	return nil
}

func (h HeldClaim) check() error {
	if _, err := core.ParseSessionID(string(h.Session)); err != nil {
		return err
	}
	if err := core.CheckHead(h.Head); err != nil {
		return err
	}
	if _, err := core.ParseSessionID(h.Writer); err != nil {
		return fmt.Errorf("writer: %w", err)
	}
	return nil
}

// An Announcer sends heartbeats while this process has claims. It ignores errors:
// presence is only a hint. Its methods are safe for concurrent use; those of a nil
// Announcer do nothing.
type Announcer struct {
	// Heartbeat and Leave send to the log that the process runs, and that it has
	// ended. Both are required.
	Heartbeat func(context.Context, Presence) error
	Leave     func(ctx context.Context, id string) error

	mu   sync.Mutex
	me   Presence
	wake chan struct{} // signals a change
	done chan struct{} // closed after Leave; nil while there are no claims
}

// Add adds a claim. The first one starts a goroutine that sends heartbeats; it ends
// after the last is dropped.
func (h *Announcer) Add(id core.SessionID, head string, c core.Claim) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.me.Holds = append(h.me.Holds[:len(h.me.Holds):len(h.me.Holds)], HeldClaim{Session: id, Head: head, Writer: c.Writer})
	if h.done != nil {
		h.poke()
		return
	}
	h.me = Presence{ID: newKey(), Agent: c.Agent, Host: c.Host, By: c.By, Since: time.Now().UTC(), Holds: h.me.Holds}
	h.wake, h.done = make(chan struct{}, 1), make(chan struct{})
	go h.run(h.wake, h.done)
}

// Drop removes the claim of writer. After the last one it waits up to two seconds
// for Leave.
func (h *Announcer) Drop(ctx context.Context, writer string) {
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

// drop removes a claim and returns the channel to wait for, if it was the last.
func (h *Announcer) drop(writer string) (done chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []HeldClaim
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

func (h *Announcer) poke() {
	select {
	case h.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// run sends heartbeats until no claim is left, and then leaves.
func (h *Announcer) run(wake <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(HeartbeatEvery)
	defer tick.Stop()
	for {
		me, there := h.now()
		ctx, cancel := context.WithTimeout(context.Background(), HeartbeatEvery)
		if !there {
			_ = h.Leave(ctx, me.ID) // without it the process becomes silent soon
			cancel()
			return
		}
		_ = h.Heartbeat(ctx, me) // the next one may succeed
		cancel()
		select {
		case <-tick.C:
		case <-wake:
		}
	}
}

// now returns the heartbeat to send, with the latest claims; false if no claim is
// left.
func (h *Announcer) now() (me Presence, there bool) {
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
