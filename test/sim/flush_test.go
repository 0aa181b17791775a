package sim

import (
	"context"
	"slices"

	"github.com/sesslog/sesslog/stream"
)

// In some worlds the broker is that of a single node with group commit: it answers before
// it flushes, and a power cut takes all processes and what was not flushed. No client may
// notice: nothing that was acknowledged or read is lost.
func flushes(seed uint64, forget bool) bool { return !forget && seed%3 == 0 }

// durable is the stream.Durable of a node in such a world, and nil in others.
func (n *node) durable() stream.Durable {
	if !n.w.flushing {
		return nil
	}
	return func(ctx context.Context, name string, _ uint64) error {
		if n.w.b.hasty {
			return nil
		}
		shelf := shelf{n.w, n.name}
		return shelf.call(ctx, "flush "+name, func(bool, bool) {
			n.w.b.mu.Lock()
			defer n.w.b.mu.Unlock()
			if s := n.w.b.streams[name]; s != nil {
				n.w.flushed[name] = s.last
			}
		})
	}
}

// blackout cuts the power of the single node. A part of what was not flushed is lost.
func (w *world) blackout() {
	if !w.flushing || !w.happens(w.weather.blackout, "power cut that loses what was not flushed") {
		return
	}
	for i := range w.nodes {
		w.kill(i)
	}
	w.things = nil
	for _, s := range w.b.sorted() {
		if s.last <= w.flushed[s.name] {
			continue
		}
		had := w.recordsOf(s)
		w.b.mu.Lock()
		s.last -= w.rng.Uint64N(s.last - w.flushed[s.name] + 1)
		s.msgs = slices.Clone(s.msgs[:s.view(0).from(s.last+1)])
		w.b.mu.Unlock()
		w.count("streams that lost records before their flush")
		w.lost(s, had)
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	for _, s := range w.b.streams {
		s.consumers = map[string]*consumer{}
	}
}
