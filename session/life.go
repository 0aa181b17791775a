package session

import (
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A LifeState says whether the holder of a claim seems to be there.
type LifeState string

// What is known of a holder.
const (
	LifeAlive   LifeState = "alive"   // a process that has the claim says that it is there
	LifeSilent  LifeState = "silent"  // one said so, and has not for SilentAfter
	LifeNew     LifeState = "new"     // none said so; the claim is younger than SilentAfter
	LifeUnknown LifeState = "unknown" // none said so, and the claim is older
)

// A Life is what is known of whether a claim's holder is there. It is a hint.
type Life struct {
	State LifeState `json:"state"`
	// Seen is the last sign of it: its last word, or else when it claimed.
	Seen time.Time `json:"seen,omitzero"`
	Host string    `json:"host,omitempty"` // where the process says that it runs
}

// AtWork reports whether the holder should be asked for before it is fenced.
func (l Life) AtWork() bool { return l.State == LifeAlive || l.State == LifeNew }

func (l Life) String() string {
	seen := l.Seen.UTC().Format(time.RFC3339)
	switch l.State {
	case LifeAlive:
		return "it is alive, last seen " + seen
	case LifeSilent:
		return "it is silent since " + seen
	case LifeNew:
		return fmt.Sprintf("it claimed less than %s ago, whether it is there is not known yet", SilentAfter)
	}
	return "whether it is alive is not known"
}

// LifeOf tells from a listing whether the holder c of a head is there. now is
// the time, roughly.
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
	for _, mine := range p.Holds {
		if mine == h {
			return true
		}
	}
	return false
}

// A Present is a process as others see it.
type Present struct {
	Presence
	Kind  string    `json:"kind"`           // "node" or "writer"
	Node  string    `json:"node,omitempty"` // of a writer: through which node it was heard last
	Seen  time.Time `json:"seen"`           // when it was heard last, by the broker's clock
	Alive bool      `json:"alive"`          // it was heard within SilentAfter
}
