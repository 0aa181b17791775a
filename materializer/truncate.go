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
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

const (
	// truncateEvery is how often a shard's size is checked.
	truncateEvery = 5 * time.Second
	// surveyShare bounds the cost of surveys: the next one is not before this many
	// times the duration of the last.
	surveyShare = 20
	// inWayFor is how long a session that prevented truncation is left alone at
	// first. The time doubles with each failure, up to inWayMost.
	inWayFor  = time.Minute
	inWayMost = 6 * time.Hour
)

// A truncator truncates one shard. mu guards what other goroutines read.
type truncator struct {
	shard   int
	running chan struct{}                    // held by the running attempt; guards the next three
	seen    core.Pos                         // the shard's last message at the last survey
	pause   time.Time                        // no survey before then
	delays  map[core.SessionID]time.Duration // how long a session was left alone last

	mu    sync.Mutex
	work  report.ShardWork
	inWay map[core.SessionID]report.InWay
}

func newTruncator(shard int) *truncator {
	return &truncator{shard: shard, work: report.ShardWork{Shard: shard}, running: make(chan struct{}, 1), delays: map[core.SessionID]time.Duration{}, inWay: map[core.SessionID]report.InWay{}}
}

// Shards returns, by shard, what this node knows of truncating it.
func (m *Materializer) Shards() []report.ShardWork {
	out := make([]report.ShardWork, len(m.truncators))
	for i, t := range m.truncators {
		out[i] = t.state()
		out[i].Mine = m.owns(i)
	}
	return out
}

func (t *truncator) state() report.ShardWork {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.work
	for _, in := range t.inWay {
		w.InWay = append(w.InWay, in)
	}
	slices.SortFunc(w.InWay, func(a, b report.InWay) int { return strings.Compare(string(a.Session), string(b.Session)) })
	return w
}

// truncate truncates one shard when needed, until ctx ends.
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
		t.note(func(w *report.ShardWork) {
			w.Error = ""
			if err != nil {
				w.Error = err.Error()
			}
		})
	}
}

func (t *truncator) note(f func(*report.ShardWork)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.work)
}

// Truncate drops garbage of a shard if that is worthwhile now, and returns what is
// known of the shard afterwards. A session that prevents it is not an error.
func (m *Materializer) Truncate(ctx context.Context, shard int) (report.ShardWork, error) {
	err := m.truncateOnce(ctx, m.truncators[shard])
	return m.truncators[shard].state(), err
}

func (m *Materializer) truncateOnce(ctx context.Context, t *truncator) error {
	select {
	case t.running <- struct{}{}:
		defer func() { <-t.running }()
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
	t.note(func(w *report.ShardWork) { w.Surveyed, w.Live, w.Garbage = now, p.live, p.garbage })
	if p.upTo == 0 {
		return nil
	}
	return m.cut(ctx, t, p)
}

// survey reads the headers of all messages of a shard.
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

// cut executes p.
func (m *Materializer) cut(ctx context.Context, t *truncator, p plan) error {
	start := time.Now()
	err := m.cfg.Sessions.Truncate(ctx, m.cfg.Log, t.shard, p.upTo, func(ctx context.Context, s *engine.Session) error {
		_, err := m.Checkpoint(ctx, s)
		return err
	})
	if in, ok := errors.AsType[*engine.BlockedError](err); ok && !isTransient(err) {
		m.exclude(t, in)
		t.seen = 0 // the next cut ends before it
		return nil
	}
	if err != nil {
		return err
	}
	t.seen = 0 // there may be more to do
	maps.DeleteFunc(t.delays, func(id core.SessionID, _ time.Duration) bool { return !t.isInWay(id, time.Time{}) })
	t.note(func(w *report.ShardWork) {
		w.Truncated, w.Live, w.Garbage, w.Freed = time.Now(), p.live, p.garbage-p.frees, w.Freed+p.frees
	})
	m.cfg.Logger.Info("shard truncated", "shard", t.shard, "upTo", p.upTo, "freed", p.frees, "needed", p.live, "took", time.Since(start).Round(time.Millisecond))
	return nil
}

// isTransient reports whether err is a temporary failure of the log or the store,
// not of a session.
func isTransient(err error) bool {
	for _, passing := range []error{core.ErrUnavailable, core.ErrUncertain, core.ErrFull, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// exclude excludes a session from truncation for a while.
func (m *Materializer) exclude(t *truncator, in *engine.BlockedError) {
	d := min(max(2*t.delays[in.Session], inWayFor), inWayMost)
	t.delays[in.Session] = d
	m.cfg.Logger.Error("session prevents truncation of the log; check it with: sessctl verify "+string(in.Session),
		"shard", t.shard, "session", in.Session, "err", in.Err, "again", d)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inWay[in.Session] = report.InWay{Session: in.Session, Error: in.Err.Error(), Until: time.Now().Add(d)}
}

// isInWay reports whether a session is excluded now.
func (t *truncator) isInWay(id core.SessionID, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, ok := t.inWay[id]
	if ok && !now.Before(in.Until) {
		delete(t.inWay, id) // tried again; how long it was excluded is remembered
		return false
	}
	return ok
}

// isRetryDue reports whether an excluded session is to be tried again.
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
