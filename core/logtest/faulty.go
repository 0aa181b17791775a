package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Faults are the probabilities, from 0 to 1, of the faults of a Faulty log.
// Real logs have the same faults.
type Faults struct {
	Seed      uint64
	Lost      float64       // a record is stored and the answer is lost
	Dropped   float64       // a record is lost on its way, and so is the answer
	Late      float64       // the answer is lost, and the record arrives after its writer has continued
	Conflicts float64       // an append is refused though nothing came between
	Busy      float64       // an append or a read is put off
	Stale     float64       // Last answers with an older record
	Short     float64       // Read ends too early
	Delay     time.Duration // at most, before every answer
}

// A FaultyLog is a core.Log that misbehaves according to its Faults. It keeps
// every promise that core.Log makes for a single call.
type FaultyLog struct {
	core.Log
	f Faults

	mu   sync.Mutex
	rand *rand.Rand
	late sync.WaitGroup
}

// Faulty returns log with faults. Several faulty logs may share one log, like
// several nodes. Call Settle before checking what the log holds.
func Faulty(log core.Log, f Faults) *FaultyLog {
	return &FaultyLog{Log: log, f: f, rand: rand.New(rand.NewPCG(f.Seed, f.Seed))}
}

// Settle returns when all delayed records have arrived.
func (l *FaultyLog) Settle() { l.late.Wait() }

func (l *FaultyLog) happens(p float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.Float64() < p
}

func (l *FaultyLog) upTo(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.IntN(n)
}

// wait takes up to d, or until ctx ends.
func (l *FaultyLog) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(l.upTo(int(d))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Append implements core.Log.
func (l *FaultyLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	defer l.wait(ctx, l.f.Delay)
	switch {
	case l.happens(l.f.Busy):
		return 0, fmt.Errorf("busy: %w", core.ErrUnavailable)
	case l.happens(l.f.Conflicts):
		return 0, fmt.Errorf("the last record is at 0: %w", core.ErrConflict)
	case l.happens(l.f.Dropped):
		return 0, fmt.Errorf("no answer: %w", core.ErrUncertain)
	case l.happens(l.f.Late):
		l.sendLate(ctx, id, after, r)
		return 0, fmt.Errorf("no answer yet: %w", core.ErrUncertain)
	}
	pos, err := l.Log.Append(ctx, id, after, r)
	if err == nil && l.happens(l.f.Lost) {
		return 0, fmt.Errorf("the answer was lost: %w", core.ErrUncertain)
	}
	return pos, err
}

func (l *FaultyLog) sendLate(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) {
	rec := *r
	rec.Body = bytes.Clone(r.Body)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testTimeout)
	l.late.Go(func() {
		defer cancel()
		l.wait(ctx, l.f.Delay+20*time.Millisecond)
		_, _ = l.Log.Append(ctx, id, after, &rec) // no caller waits for it
	})
}

// Last implements core.Log.
func (l *FaultyLog) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	defer l.wait(ctx, l.f.Delay)
	if l.happens(l.f.Busy) {
		return nil, fmt.Errorf("busy: %w", core.ErrUnavailable)
	}
	last, err := l.Log.Last(ctx, id)
	if err != nil || !l.happens(l.f.Stale) {
		return last, err
	}
	var older []*core.Record
	for r, err := range l.Log.Read(ctx, id, 0, last.Pos) {
		if err != nil {
			return nil, err
		}
		older = append(older, r)
	}
	if len(older) == 0 {
		return nil, errors.Join(core.ErrUnavailable, errors.New("a replica without the session"))
	}
	return older[max(0, len(older)-1-l.upTo(3))], nil
}

// Prove implements core.Prover if the underlying log does. It never proves
// anything wrong.
func (l *FaultyLog) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	defer l.wait(ctx, l.f.Delay)
	p, ok := l.Log.(core.Prover)
	switch {
	case !ok:
		return fmt.Errorf("the log beneath proves nothing: %w", core.ErrInvalid)
	case l.happens(l.f.Busy), l.happens(l.f.Dropped):
		return fmt.Errorf("busy: %w", core.ErrUnavailable)
	case l.happens(l.f.Conflicts):
		return fmt.Errorf("the last record is at 0: %w", core.ErrConflict)
	}
	err := p.Prove(ctx, id, last)
	if err == nil && l.happens(l.f.Lost) {
		return fmt.Errorf("the answer was lost: %w", core.ErrUnavailable)
	}
	return err
}

// Read implements core.Log.
func (l *FaultyLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		if l.happens(l.f.Busy) {
			yield(nil, fmt.Errorf("busy: %w", core.ErrUnavailable))
			return
		}
		n := -1
		if l.happens(l.f.Short) {
			n = l.upTo(3)
		}
		for r, err := range l.Log.Read(ctx, id, after, upTo) {
			if n == 0 || !yield(r, err) {
				return
			}
			n--
		}
	}
}
