package fire_test

import (
	"sync"
	"time"
)

// What a client may do.
const (
	opAppend  = "append"
	opClaim   = "claim"
	opRelease = "release"
	opMove    = "move"
	opInfo    = "info"
	opEntries = "entries"
)

// What came of it.
const (
	done     = "done"
	fenced   = "fenced"
	conflict = "conflict"
	absent   = "absent"  // no such session, or entry
	refused  = "refused" // the node could not, and says that nothing was stored
	unknown  = "unknown" // no answer, or the node could not tell
	broken   = "broken"  // an answer that no fault excuses
)

// heads are the heads that clients write to; the first is there from the start,
// the other stands where it stands until somebody makes it.
var heads = [2]string{"main", "side"}

// An op is one call as its client saw it. Times count from the start of the run.
type op struct {
	Session  string
	Client   int
	Node     int // the last that was asked
	Kind     string
	Head     int      // of heads
	Writer   string   // the claim it speaks from, or asks for
	IDs      []string // of the lines of an append
	After    bool     // an append that expects the head to stand at Leaf
	Leaf     string   // see After; where a move goes
	TakeOver bool
	Tries    int

	Call, Return time.Duration
	Result       string
	Why          string // the error
	Epoch        uint64 // that a claim got
	Former       string // the writer whose claim it ended
	Saw          view   // what a read saw

	// Known once the run is over:
	Stored bool   // the session's records show it
	Place  uint64 // where among them, as far as they tell; 0: unknown
	Stale  bool   // a server that was cut off may have answered
}

// A view is what a read shows of a session, as far as the model goes.
type view struct {
	Lines  string // of entries: see state.lines
	Count  int    // of info, as all below
	Leaf   [2]string
	Made   bool // the second head
	Holder [2]string
	Epoch  uint64
}

// A history is the ops of a run.
type history struct {
	began time.Time

	mu  sync.Mutex
	ops []op
}

func (h *history) now() time.Duration { return time.Since(h.began) }

func (h *history) add(o op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// bySession are the ops of each session, each client's in order.
func (h *history) bySession() map[string][]op {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string][]op{}
	for _, o := range h.ops {
		out[o.Session] = append(out[o.Session], o)
	}
	return out
}
