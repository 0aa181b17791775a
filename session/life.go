package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A LifeState says whether the holder of a claim seems to be there.
type LifeState string

// What is known of a holder.
const (
	LifeAlive   LifeState = "alive"   // a process with the claim sent a heartbeat recently
	LifeSilent  LifeState = "silent"  // the last heartbeat is older than SilentAfter
	LifeNew     LifeState = "new"     // no heartbeat; the claim is younger than SilentAfter
	LifeUnknown LifeState = "unknown" // no heartbeat, and the claim is older
)

// A Life says whether a claim's holder seems to be active. It is a hint.
type Life struct {
	State LifeState `json:"state"`
	// Seen is the time of its last heartbeat, or else of its claim.
	Seen time.Time `json:"seen,omitzero"`
	Host string    `json:"host,omitempty"` // where the process says that it runs
}

// AtWork reports whether the holder may be active, so that only --take-over fences it.
func (l Life) AtWork() bool { return l.State == LifeAlive || l.State == LifeNew }

func (l Life) String() string {
	seen := l.Seen.UTC().Format(time.RFC3339)
	switch l.State {
	case LifeAlive:
		return "it is alive, last seen " + seen
	case LifeSilent:
		return "it is silent since " + seen
	case LifeNew:
		return fmt.Sprintf("it claimed less than %s ago, so it may be active", SilentAfter)
	}
	return "whether it is alive is not known"
}

// LifeOf derives from a listing whether the holder c of a head seems to be active.
// now is the current time, roughly.
func LifeOf(list []Present, id core.SessionID, head string, c *core.Claim, now time.Time) Life {
	var last *Present
	for i := range list {
		if list[i].has(HeldClaim{Session: id, Head: head, Writer: c.Writer}) && (last == nil || list[i].Seen.After(last.Seen)) {
			last = &list[i]
		}
	}
	switch {
	case last != nil && last.Alive:
		return Life{State: LifeAlive, Seen: last.Seen, Host: last.Host}
	case last != nil:
		return Life{State: LifeSilent, Seen: last.Seen, Host: last.Host}
	case now.Sub(c.Since) < SilentAfter:
		return Life{State: LifeNew, Seen: c.Since}
	}
	return Life{State: LifeUnknown, Seen: c.Since}
}

func (p *Present) has(h HeldClaim) bool {
	return slices.Contains(p.Holds, h)
}

// A Present is a process as others see it.
type Present struct {
	Presence
	Kind  string    `json:"kind"`           // "node" or "writer"
	Node  string    `json:"node,omitempty"` // of a writer: through which node it was heard last
	Seen  time.Time `json:"seen"`           // when it was heard last, by the broker's clock
	Alive bool      `json:"alive"`          // it was heard within SilentAfter
}
