package materializer

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Policy says when a session is worth a snapshot.
type Policy struct {
	// MinTail is the least that a tail must have grown to, in body bytes; a
	// quarter of the last snapshot where that is more, so that the sum of all
	// snapshots stays linear in what was appended. Default 256 KiB.
	MinTail int64
	// Idle is how long a session with any tail must have been left alone.
	// Default 30 s.
	Idle time.Duration
}

func (p Policy) withDefaults() Policy {
	if p.MinTail == 0 {
		p.MinTail = 256 << 10
	}
	if p.Idle == 0 {
		p.Idle = 30 * time.Second
	}
	return p
}

// due reports whether a session in state st that has been left alone for idle
// is worth a snapshot.
func (p Policy) due(st *core.State, idle time.Duration) bool {
	if st.Tail == 0 || st.Alien != "" || st.Erased != nil {
		return false
	}
	if st.Closed != nil || idle >= p.Idle {
		return true
	}
	return st.Tail >= max(p.MinTail, st.SnapshotSize/4)
}
