package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A sim is a faulty broker, a faulty object store, and their nodes, in virtual time. A
// scheduler runs the calls of the nodes one at a time; one seed determines the order,
// the faults and the actions of the nodes.
type sim struct {
	rng   *rand.Rand
	rules faults
	calm  bool // no more faults

	mu      sync.Mutex
	pending []*call
	order   int

	broker  broker
	objects objects
	nodes   []*simNode
	late    []func() // duplicates of requests that arrive later

	logMu  sync.Mutex
	steps  int
	counts map[string]int
	trace  []string
	wrong  []string // promises that were broken
	onLoss func()   // records, or a node that knew them, were lost
}

// faults are the probabilities of each fault per call.
type faults struct {
	request  float64 // a request is lost
	reply    float64 // the request is stored, and the answer is lost
	late     float64 // it arrives later, perhaps twice
	refusal  float64 // it is rejected at random
	stale    float64 // a node's leader is partitioned for a while
	store    float64 // the object store fails
	crash    float64 // a node dies, and another replaces it
	pause    float64 // a node pauses for a while
	loss     float64 // the broker loses its tail
	truncate float64 // the unneeded prefix is dropped
}

// A call is one request of a node to the broker or the store.
type call struct {
	node *simNode
	n    int
	what string
	run  func()
	done chan struct{}
}

func (s *sim) logf(format string, args ...any) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf("%6d ", s.steps)+fmt.Sprintf(format, args...))
	if len(s.trace) > 4000 {
		s.trace = s.trace[len(s.trace)-3000:]
	}
}

func (s *sim) count(what string) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.counts[what]++
}

func (s *sim) fail(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	s.logf("!!! %s", msg)
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.wrong = append(s.wrong, msg)
}

func (s *sim) happens(p float64) bool { return !s.calm && s.rng.Float64() < p }

// ask waits until the scheduler has run f, or ctx has ended. In the latter case, f may
// still run later.
func (s *sim) ask(ctx context.Context, n *simNode, what string, f func()) error {
	c := &call{node: n, what: what, run: f, done: make(chan struct{})}
	s.mu.Lock()
	s.order++
	c.n = s.order
	s.pending = append(s.pending, c)
	s.mu.Unlock()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// step runs one event, and reports whether there was one.
func (s *sim) step() {
	synctest.Wait()
	s.logMu.Lock()
	s.steps++
	s.logMu.Unlock()
	if s.happens(s.rules.crash) {
		s.crash()
	}
	if s.happens(s.rules.pause) {
		n := s.node(s.rng)
		n.asleep = time.Now().Add(time.Duration(1+s.rng.IntN(60)) * time.Second)
		s.count("pause")
		s.logf("node %d stands still", n.id)
	}
	if s.happens(s.rules.stale) {
		n := s.node(s.rng)
		n.frozen, n.thaws = s.broker.copy(), time.Now().Add(time.Duration(1+s.rng.IntN(10))*time.Second)
		s.count("cut-off leader")
	}
	if s.happens(s.rules.loss) {
		s.lose()
	}
	if len(s.late) > 0 && (s.calm || s.rng.Float64() < 0.2) {
		i := s.rng.IntN(len(s.late))
		f := s.late[i]
		s.late = slices.Delete(s.late, i, i+1)
		f()
		return
	}
	c := s.next()
	if c == nil {
		time.Sleep(20 * time.Millisecond) // timers of waiting nodes fire
		return
	}
	c.run()
	close(c.done)
}

// node draws a live node.
func (s *sim) node(rng *rand.Rand) *simNode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[rng.IntN(len(s.nodes))]
}

// next takes a call that may be answered now.
func (s *sim) next() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ready []int
	for i, c := range s.pending {
		if !time.Now().Before(c.node.asleep) {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	slices.SortFunc(ready, func(a, b int) int {
		x, y := s.pending[a], s.pending[b]
		return cmp.Or(cmp.Compare(x.node.id, y.node.id), cmp.Compare(x.what, y.what), cmp.Compare(x.n, y.n))
	})
	i := ready[s.rng.IntN(len(ready))]
	c := s.pending[i]
	s.pending = slices.Delete(s.pending, i, i+1)
	return c
}

// --- the broker ----------------------------------------------------------------

// A broker is a stream: records of all sessions, of which only the first synced
// survive a power failure.
type broker struct {
	first  core.Pos // the first that is not dropped
	all    []brokerRecord
	synced int
}

type brokerRecord struct {
	id  core.SessionID
	rec core.Record
}

func (b *broker) copy() *broker {
	return &broker{first: b.first, all: slices.Clone(b.all), synced: b.synced}
}

func (b *broker) last() core.Pos { return b.first + core.Pos(len(b.all)) - 1 }

func (b *broker) lastOf(id core.SessionID) *core.Record {
	for i := len(b.all) - 1; i >= 0; i-- {
		if b.all[i].id == id {
			return &b.all[i].rec
		}
	}
	return nil
}

func (b *broker) at(id core.SessionID, pos core.Pos) *core.Record {
	if pos < b.first || pos > b.last() || b.all[pos-b.first].id != id {
		return nil
	}
	return &b.all[pos-b.first].rec
}

// store is the compare-and-append that every guarantee depends on.
func (b *broker) store(id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	have := core.Pos(0)
	if last := b.lastOf(id); last != nil {
		have = last.Pos
	}
	if have != after {
		return 0, fmt.Errorf("the last record is at %d: %w", have, core.ErrConflict)
	}
	rec := *r
	rec.Body = bytes.Clone(r.Body)
	rec.Pos, rec.After, rec.Time = b.last()+1, after, time.Now()
	b.all = append(b.all, brokerRecord{id, rec})
	return rec.Pos, nil
}

// simLog is the broker as one node reaches it.
type simLog struct {
	sim  *sim
	node *simNode
}

var (
	_ core.Log    = (*simLog)(nil)
	_ core.Prover = (*simLog)(nil)
)

func (l *simLog) Name() string { return "sim" }

// view is what this node's reads see: the broker, or the outdated state of a
// partitioned leader.
func (l *simLog) view() *broker {
	if f := l.node.frozen; f != nil && !l.sim.calm && time.Now().Before(l.node.thaws) {
		return f
	}
	l.node.frozen = nil
	return &l.sim.broker
}

var errDead = fmt.Errorf("this node is dead: %w", core.ErrUnavailable)

func (l *simLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (pos core.Pos, err error) {
	err = core.ErrUncertain
	var got core.Pos
	var gotErr error
	asked := l.sim.ask(ctx, l.node, fmt.Sprint("append ", id, r.Writer, r.Chain), func() { got, gotErr = l.append(id, after, r) })
	if asked != nil {
		return 0, fmt.Errorf("%w: %w", err, asked)
	}
	return got, gotErr
}

// Prove implements core.Prover: a partitioned leader proves nothing.
func (l *simLog) Prove(ctx context.Context, id core.SessionID, last core.Pos) (err error) {
	var got error
	if err := l.sim.ask(ctx, l.node, fmt.Sprint("prove ", id, last), func() {
		have := core.Pos(0)
		if r := l.sim.broker.lastOf(id); r != nil {
			have = r.Pos
		}
		switch {
		case l.node.dead:
			got = errDead
		case l.view() != &l.sim.broker, l.sim.happens(l.sim.rules.reply):
			got = fmt.Errorf("no answer: %w", core.ErrUnavailable)
		case have != last:
			got = fmt.Errorf("the last record is at %d: %w", have, core.ErrConflict)
		}
	}); err != nil {
		return fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return got
}

func (l *simLog) append(id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	s := l.sim
	if l.node.dead {
		return 0, errDead
	}
	rec := *r
	arrive := func() (core.Pos, error) {
		pos, err := s.broker.store(id, after, &rec)
		s.logf("node %d: %s record %d of %s by %s behind %d: at %d, %v", l.node.id, rec.Kind, rec.Seq, id, rec.Writer, after, pos, err)
		return pos, err
	}
	uncertain := fmt.Errorf("no answer: %w", core.ErrUncertain)
	switch {
	case l.view() != &s.broker: // this leader cannot store
		return 0, uncertain
	case s.happens(s.rules.request):
		s.count("request lost")
		return 0, uncertain
	case s.happens(s.rules.late):
		s.count("request late")
		s.late = append(s.late, func() { _, _ = arrive() })
		if s.rng.IntN(2) == 0 {
			return 0, uncertain
		}
	case s.happens(s.rules.refusal):
		s.count("refused for nothing")
		kinds := []error{core.ErrConflict, core.ErrUnavailable, core.ErrFull}
		return 0, fmt.Errorf("no: %w", kinds[s.rng.IntN(len(kinds))])
	}
	pos, err := arrive()
	if s.happens(s.rules.reply) {
		s.count("answer lost")
		return 0, uncertain
	}
	return pos, err
}

func (l *simLog) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	return l.read(ctx, fmt.Sprint("last ", id), func(b *broker) *core.Record { return b.lastOf(id) })
}

func (l *simLog) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	return l.read(ctx, fmt.Sprint("at ", id, pos), func(b *broker) *core.Record { return b.at(id, pos) })
}

func (l *simLog) read(ctx context.Context, what string, f func(*broker) *core.Record) (r *core.Record, err error) {
	var got *core.Record
	var gotErr error
	if err := l.sim.ask(ctx, l.node, what, func() {
		switch {
		case l.node.dead:
			gotErr = errDead
		case l.sim.happens(l.sim.rules.refusal):
			gotErr = fmt.Errorf("busy: %w", core.ErrUnavailable)
		default:
			if got = f(l.view()); got == nil {
				gotErr = fmt.Errorf("no such record: %w", core.ErrNotFound)
				return
			}
			rec := *got
			got = &rec
		}
	}); err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return got, gotErr
}

// Read returns what a replica has: it may lag.
func (l *simLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for {
			r, err := l.read(ctx, fmt.Sprint("read ", id, after, upTo), func(b *broker) *core.Record {
				if l.sim.happens(l.sim.rules.stale * 20) {
					return nil // a lagging replica
				}
				for i := range b.all {
					if r := &b.all[i].rec; b.all[i].id == id && r.Pos > after && r.Pos <= upTo {
						return r
					}
				}
				return nil
			})
			if errors.Is(err, core.ErrNotFound) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(r, nil) {
				return
			}
			after = r.Pos
		}
	}
}

func (l *simLog) Follow(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for ctx.Err() == nil {
			for r, err := range l.Read(ctx, id, after, 1<<60) {
				if err != nil {
					if errors.Is(err, errDead) {
						yield(nil, err)
						return
					}
					break
				}
				if !yield(r, nil) {
					return
				}
				after = r.Pos
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		yield(nil, ctx.Err())
	}
}

// SessionsUpTo and Drop make it a stream.Prefix.
func (l *simLog) SessionsUpTo(ctx context.Context, _ int, upTo core.Pos) ([]core.SessionID, error) {
	ids := map[core.SessionID]bool{}
	err := l.sim.ask(ctx, l.node, "sessions", func() {
		for _, r := range l.sim.broker.all {
			if r.rec.Pos <= upTo {
				ids[r.id] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(ids)), err
}

func (l *simLog) Drop(ctx context.Context, _ int, upTo core.Pos) error {
	return l.sim.ask(ctx, l.node, "drop", func() {
		b := &l.sim.broker
		if l.node.dead || upTo < b.first {
			return
		}
		n := int(upTo - b.first + 1)
		l.sim.logf("node %d drops up to %d", l.node.id, upTo)
		l.sim.count("truncation")
		b.all, b.first, b.synced = slices.Clone(b.all[n:]), upTo+1, max(0, b.synced-n)
	})
}

// --- the object store ------------------------------------------------------------

type objects struct {
	all  map[core.Digest][]byte
	seqs map[string]core.Digest // of the snapshots, by session, seq and chain
}

// simStore is the object store as one node reaches it.
type simStore struct {
	sim  *sim
	node *simNode
}

var errStore = fmt.Errorf("the object store fails: %w", core.ErrUnavailable)

func (o *simStore) Put(ctx context.Context, p []byte) (core.Digest, error) {
	d := core.DigestOf(p)
	var failed error
	if err := o.sim.ask(ctx, o.node, fmt.Sprint("put ", d), func() {
		lost := o.sim.happens(o.sim.rules.store)
		if !lost || o.sim.rng.IntN(2) == 0 { // it may be stored although there is no answer
			o.sim.objects.all[d] = bytes.Clone(p)
		}
		if lost {
			o.sim.count("object store failed")
			failed = errStore
		}
	}); err != nil {
		return d, fmt.Errorf("%w: %w", errStore, err)
	}
	return d, failed
}

func (o *simStore) Get(ctx context.Context, d core.Digest) (b []byte, err error) {
	var got []byte
	var failed error
	if err := o.sim.ask(ctx, o.node, fmt.Sprint("get ", d), func() {
		switch p, ok := o.sim.objects.all[d]; {
		case o.sim.happens(o.sim.rules.store):
			o.sim.count("object store failed")
			failed = errStore
		case o.sim.happens(o.sim.rules.store):
			o.sim.count("wrong bytes")
			failed = fmt.Errorf("other bytes: %w", core.ErrCorrupt)
		case !ok:
			failed = fmt.Errorf("object %s: %w", d, core.ErrNotFound)
		default:
			got = bytes.Clone(p)
		}
	}); err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	return got, failed
}

// Load implements stream.Snapshots.
func (o *simStore) Load(ctx context.Context, m *core.Manifest) ([]byte, func() error, error) {
	plain, err := o.Get(ctx, m.SHA256)
	return plain, func() error { return nil }, err
}
