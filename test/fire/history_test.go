package fire_test

import (
	"sync"
	"time"
)

// Kinds of operations.
const (
	opAppend  = "append"
	opClaim   = "claim"
	opRelease = "release"
	opMove    = "move"
	opInfo    = "info"
	opEntries = "entries"
)

// Results of operations.
const (
	done     = "done"
	fenced   = "fenced"
	conflict = "conflict"
	absent   = "absent"  // no such session, or entry
	refused  = "refused" // the node could not do it and stored nothing
	unknown  = "unknown" // no answer, or an unknown outcome
	broken   = "broken"  // an answer that no fault excuses
)

// heads are the heads that clients write to. The first exists from the start; the second
// has the first's leaf until a writer creates it.
var heads = [2]string{"main", "side"}

// An op is one call as its client saw it. Times are relative to the start of the run.
type op struct {
	Session  string
	Client   int
	Node     int // of the last try
	Kind     string
	Head     int      // of heads
	Writer   string   // the claim that it uses or requests
	IDs      []string // of the lines of an append
	After    bool     // an append that expects Leaf to be the head's leaf
	Leaf     string   // see After; or the target of a move
	TakeOver bool
	Tries    int

	Call, Return time.Duration
	Result       string
	Why          string // the error
	Epoch        uint64 // of the new claim
	Former       string // the writer whose claim it ended
	Saw          view   // what a read saw

	// Known after the run:
	Stored bool   // the session's records contain it
	Place  uint64 // its position among the records; 0: unknown
	Stale  bool   // a server without a quorum may have answered
}

// A view is the part of a session that a read shows and the model has.
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

// bySession returns the ops of each session, sorted by client and time.
func (h *history) bySession() map[string][]op {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string][]op{}
	for _, o := range h.ops {
		out[o.Session] = append(out[o.Session], o)
	}
	return out
}
