package materializer

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Policy decides when a session gets a snapshot.
//
// All snapshots of a session together have at most four times its size: one is
// written only while the previous ones have at most three times its size. So a
// session that only grows gets a new one when it has grown by a third.
type Policy struct {
	// MinTail is the smallest tail, in body bytes, for which an active session gets
	// a snapshot. Default 1 MiB.
	MinTail int64
	// Idle is how long a session must be idle to get a snapshot whatever its tail.
	// Default 30 s.
	Idle time.Duration
}

func (p Policy) withDefaults() Policy {
	if p.MinTail == 0 {
		p.MinTail = 1 << 20
	}
	if p.Idle == 0 {
		p.Idle = 30 * time.Second
	}
	return p
}

// mostWritten limits the size of all previous snapshots, in multiples of the new
// one.
const mostWritten = 3

// due reports whether a session in state st, idle for that long, needs a snapshot.
func (p Policy) due(st *core.State, idle time.Duration) bool {
	if st.Tail == 0 || st.UnknownKind != "" || st.Erased != nil {
		return false
	}
	if st.Closed == nil && idle < p.Idle && st.Tail < max(p.MinTail, st.SnapshotSize/mostWritten) {
		return false
	}
	// A session whose entries are replaced is written to without growing.
	return st.Tail >= max(p.MinTail, st.SnapshotSize) || isAmortized(st)
}

// isAmortizedWhole is isAmortized for a snapshot to be written whole: m counts it.
func isAmortizedWhole(m *core.Manifest) bool { return m.Written-m.Size <= mostWritten*m.Size }

// isAmortized reports whether a session has grown enough for another snapshot. Its
// size takes a visit of each entry, so this is checked last.
func isAmortized(st *core.State) bool {
	switch w := st.Snapshot.Written; {
	case w <= mostWritten*st.SnapshotSize:
		return true
	case w > mostWritten*(st.SnapshotSize+st.Tail):
		return false
	default:
		return w <= mostWritten*st.Size()
	}
}
