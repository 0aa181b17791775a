package stream

import (
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A LifeState says whether the holder of a claim seems to be there.
type LifeState string

// What is known of a holder.
const (
	Alive   LifeState = "alive"   // a process that has the claim says that it is there
	Silent  LifeState = "silent"  // one said so, and has not for session.SilentAfter
	New     LifeState = "new"     // none said so; the claim is younger than session.SilentAfter
	Unknown LifeState = "unknown" // none said so, and the claim is older
)

// A Life is what is known of whether a claim's holder is there. It is a hint.
type Life struct {
	State LifeState `json:"state"`
	// Seen is the last sign of it: its last word, or else when it claimed.
	Seen time.Time `json:"seen,omitzero"`
	Host string    `json:"host,omitempty"` // where the process says that it runs
}

// AtWork reports whether the holder should be asked for before it is fenced.
func (l Life) AtWork() bool { return l.State == Alive || l.State == New }

func (l Life) String() string {
	seen := l.Seen.UTC().Format(time.RFC3339)
	switch l.State {
	case Alive:
		return "it is alive, last seen " + seen
	case Silent:
		return "it is silent since " + seen
	case New:
		return fmt.Sprintf("it claimed less than %s ago, whether it is there is not known yet", session.SilentAfter)
	}
	return "whether it is alive is not known"
}

// LifeOf tells from a listing whether the holder c of a head is there. now is
// the time, roughly.
func LifeOf(list []Present, id core.SessionID, head string, c *core.Claim, now time.Time) Life {
	var last *Present
	for i := range list {
		if list[i].has(session.HeldClaim{Session: id, Head: head, Writer: c.Writer}) && (last == nil || list[i].Seen.After(last.Seen)) {
			last = &list[i]
		}
	}
	switch {
	case last != nil && last.Alive:
		return Life{State: Alive, Seen: last.Seen, Host: last.Host}
	case last != nil:
		return Life{State: Silent, Seen: last.Seen, Host: last.Host}
	case now.Sub(c.Since) < session.SilentAfter:
		return Life{State: New, Seen: c.Since}
	}
	return Life{State: Unknown, Seen: c.Since}
}

func (p *Present) has(h session.HeldClaim) bool {
	for _, mine := range p.Holds {
		if mine == h {
			return true
		}
	}
	return false
}
