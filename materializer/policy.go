package materializer

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Policy says when a session is worth a snapshot.
//
// Whatever is appended and however, all snapshots that it allows of a session
// come to no more than four times the session's size: each is written only while
// those before it come to at most three times what it has itself. So a session
// that nothing but grows is written again when it has grown by a third.
type Policy struct {
	// MinTail is the least that a tail must have grown to while the session is at
	// work, in body bytes. Default 256 KiB.
	MinTail int64
	// Idle is how long a session must have been left alone to be snapshotted
	// whatever its tail. Default 30 s.
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

// mostWritten is how many times a snapshot's size those before it may come to.
const mostWritten = 3

// due reports whether a session in state st that has been left alone for idle
// is worth a snapshot.
func (p Policy) due(st *core.State, idle time.Duration) bool {
	if st.Tail == 0 || st.UnknownKind != "" || st.Erased != nil {
		return false
	}
	if st.Closed == nil && idle < p.Idle && st.Tail < max(p.MinTail, st.SnapshotSize/mostWritten) {
		return false
	}
	// Where entries are replaced, a session is written to and does not grow.
	return st.Tail >= max(p.MinTail, st.SnapshotSize) || isPaidFor(st)
}

// isPaid is isPaidFor for a snapshot that is to be written whole: m counts it.
func isPaid(m *core.Manifest) bool { return m.Written-m.Size <= mostWritten*m.Size }

// isPaidFor reports whether a session has grown enough for one more snapshot. To
// ask how large a session is takes a look at each entry, so that comes last.
func isPaidFor(st *core.State) bool {
	switch w := st.Snapshot.Written; {
	case w <= mostWritten*st.SnapshotSize:
		return true
	case w > mostWritten*(st.SnapshotSize+st.Tail):
		return false
	default:
		return w <= mostWritten*st.Size()
	}
}
