package materializer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

const (
	// truncateEvery is how often a shard is asked how large it is.
	truncateEvery = 5 * time.Second
	// surveyShare is how many times longer than a survey took there is none.
	surveyShare = 20
	// inWayFor is how long a session that was in the way is let be at first; each
	// time it still is, twice as long, up to inWayMost.
	inWayFor  = time.Minute
	inWayMost = 6 * time.Hour
)

// A ShardWork is what a node knows of truncating a shard.
type ShardWork struct {
	Shard     int       `json:"shard"`
	Mine      bool      `json:"mine"`               // this node looks after it now
	Surveyed  time.Time `json:"surveyed,omitzero"`  // when it was found out what is garbage
	Live      int64     `json:"live"`               // bytes that are needed, as of then
	Garbage   int64     `json:"garbage"`            // bytes that nobody needs, as of then
	Truncated time.Time `json:"truncated,omitzero"` // last, by this node
	Freed     int64     `json:"freed"`              // bytes of garbage, by this node since it started
	InWay     []InWay   `json:"inWay,omitempty"`    // sessions that keep the shard from being truncated
	Error     string    `json:"error,omitempty"`    // why the last try ended
}

// InWay is a session that keeps what lies behind its first record in the log.
type InWay struct {
	Session core.SessionID `json:"session"`
	Error   string         `json:"error"`
	Until   time.Time      `json:"until"` // when it is tried again
}

// A truncator truncates one shard. mu guards what others may look at.
type truncator struct {
	shard int
	turn  chan struct{}                    // held by whoever is at work; guards the next three
	seen  core.Pos                         // the shard's last message at the last survey
	pause time.Time                        // no survey before then
	waits map[core.SessionID]time.Duration // how long a session was let be last

	mu    sync.Mutex
	work  ShardWork
	inWay map[core.SessionID]InWay
}

func newTruncator(shard int) *truncator {
	return &truncator{shard: shard, work: ShardWork{Shard: shard}, turn: make(chan struct{}, 1), waits: map[core.SessionID]time.Duration{}, inWay: map[core.SessionID]InWay{}}
}

// Shards says of each shard what this node knows of truncating it.
func (m *Materializer) Shards() []ShardWork {
	out := make([]ShardWork, len(m.truncators))
	for i, t := range m.truncators {
		out[i] = t.state()
		out[i].Mine = m.owns(i)
	}
	return out
}

func (t *truncator) state() ShardWork {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.work
	for _, in := range t.inWay {
		w.InWay = append(w.InWay, in)
	}
	slices.SortFunc(w.InWay, func(a, b InWay) int { return strings.Compare(string(a.Session), string(b.Session)) })
	return w
}

// truncate looks after one shard until ctx ends.
func (m *Materializer) truncate(ctx context.Context, t *truncator) error {
	tick := time.NewTicker(truncateEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !m.owns(t.shard) {
			continue
		}
		err := m.truncateOnce(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.note(func(w *ShardWork) {
			w.Error = ""
			if err != nil {
				w.Error = err.Error()
			}
		})
	}
}

func (t *truncator) note(f func(*ShardWork)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.work)
}

// Truncate drops what nobody needs of a shard if that is worth while now, and
// returns what is known of the shard then. A session that is in the way is no
// error.
func (m *Materializer) Truncate(ctx context.Context, shard int) (ShardWork, error) {
	err := m.truncateOnce(ctx, m.truncators[shard])
	return m.truncators[shard].state(), err
}

func (m *Materializer) truncateOnce(ctx context.Context, t *truncator) error {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	st, err := m.cfg.Log.State(ctx, t.shard)
	if err != nil {
		return err
	}
	now := time.Now()
	if m.cfg.Garbage < 0 || int64(st.Bytes) <= m.cfg.Garbage || st.Last == t.seen && !t.isRetryDue(now) || now.Before(t.pause) {
		return nil
	}
	v, err := m.survey(ctx, t.shard, st)
	if err != nil {
		return err
	}
	t.pause = time.Now().Add(surveyShare * time.Since(now))
	t.seen = st.Last
	p := v.plan(m.cfg.Garbage, func(id core.SessionID) bool { return t.isInWay(id, now) })
	t.note(func(w *ShardWork) { w.Surveyed, w.Live, w.Garbage = now, p.live, p.garbage })
	if p.upTo == 0 {
		return nil
	}
	return m.cut(ctx, t, p)
}

// survey looks at every message of a shard.
func (m *Materializer) survey(ctx context.Context, shard int, st stream.ShardState) (*survey, error) {
	v := newSurvey(st)
	for ch, err := range m.cfg.Log.Walk(ctx, shard, st, st.Last) {
		if err != nil {
			return nil, err
		}
		v.take(ch)
	}
	return v, nil
}

// cut carries p out.
func (m *Materializer) cut(ctx context.Context, t *truncator, p plan) error {
	start := time.Now()
	err := m.cfg.Sessions.Truncate(ctx, m.cfg.Log, t.shard, p.upTo, func(ctx context.Context, s *engine.Session) error {
		_, err := m.Checkpoint(ctx, s)
		return err
	})
	if in, ok := errors.AsType[*engine.InTheWayError](err); ok && !isPassing(err) {
		m.leave(t, in)
		t.seen = 0 // the next cut ends before it
		return nil
	}
	if err != nil {
		return err
	}
	t.seen = 0 // there may be more to do
	maps.DeleteFunc(t.waits, func(id core.SessionID, _ time.Duration) bool { return !t.isInWay(id, time.Time{}) })
	t.note(func(w *ShardWork) {
		w.Truncated, w.Live, w.Garbage, w.Freed = time.Now(), p.live, p.garbage-p.frees, w.Freed+p.frees
	})
	m.cfg.Logger.Info("shard truncated", "shard", t.shard, "upTo", p.upTo, "freed", p.frees, "needed", p.live, "took", time.Since(start).Round(time.Millisecond))
	return nil
}

// isPassing tells what is wrong with the log or the store now from what is wrong
// with a session.
func isPassing(err error) bool {
	for _, passing := range []error{core.ErrUnavailable, core.ErrUncertain, core.ErrFull, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// leave has cuts end before a session for a while.
func (m *Materializer) leave(t *truncator, in *engine.InTheWayError) {
	d := min(max(2*t.waits[in.Session], inWayFor), inWayMost)
	t.waits[in.Session] = d
	m.cfg.Logger.Error("session keeps the log from being truncated; look with: sessctl verify "+string(in.Session),
		"shard", t.shard, "session", in.Session, "err", in.Err, "again", d)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inWay[in.Session] = InWay{in.Session, in.Err.Error(), time.Now().Add(d)}
}

// isInWay reports whether a session is to be let be now.
func (t *truncator) isInWay(id core.SessionID, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, ok := t.inWay[id]
	if ok && !now.Before(in.Until) {
		delete(t.inWay, id) // tried again; how long it was let be is remembered
		return false
	}
	return ok
}

// isRetryDue reports whether a session that was in the way is to be tried again.
func (t *truncator) isRetryDue(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, in := range t.inWay {
		if !now.Before(in.Until) {
			return true
		}
	}
	return false
}
