package fire_test

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watchEvery is the pause of a watcher between reads.
const watchEvery = 100 * time.Millisecond

// Watchers read the sessions of the pulses through each node. A read must contain what was
// acknowledged before it was sent.
type watchers struct {
	mu    sync.Mutex
	reads int
	old   int      // reads that lack an entry acknowledged before they were sent
	wrong []string // of these, the ones that no fault explains
}

func (r *run) watch(ctx context.Context, node int, p *pulse) {
	for ctx.Err() == nil {
		r.look(node, p)
		pause(ctx, watchEvery)
	}
}

func (r *run) look(node int, p *pulse) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	acked, call := p.count(), r.history.now()
	info, err := r.clients[node].Info(ctx, p.session)
	if err != nil {
		return // it proves nothing
	}
	excused := r.mayBeStale(call, r.history.now()) && !*strict
	w := &r.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if info.EntryCount >= acked {
		return
	}
	w.old++
	if !excused {
		w.wrong = append(w.wrong, fmt.Sprintf("at %.3fs node %d shows %d entries of session %s, of which %d had been acknowledged by then",
			call.Seconds(), node+1, info.EntryCount, p.session, acked))
	}
}

// count returns the number of acknowledged entries.
func (p *pulse) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}
