package memlog

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Log is a core.Log in memory. The zero value is of no use; see New.
type Log struct {
	name string

	mu   sync.Mutex
	all  []stored
	last map[core.SessionID]core.Pos
	grew chan struct{} // closed and replaced when a record is stored
}

type stored struct {
	id  core.SessionID
	rec core.Record
}

var (
	_ core.Log    = (*Log)(nil)
	_ core.Prover = (*Log)(nil)
)

// New returns an empty log.
func New(name string) *Log {
	return &Log{name: name, last: map[core.SessionID]core.Pos{}, grew: make(chan struct{})}
}

// Name implements core.Log.
func (l *Log) Name() string { return l.name }

// Append implements core.Log.
func (l *Log) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.last[id]; have != after {
		return 0, fmt.Errorf("the last record is at %d: %w", have, core.ErrConflict)
	}
	rec := *r
	rec.Body = append([]byte(nil), r.Body...)
	rec.Pos, rec.After = core.Pos(len(l.all)+1), after
	rec.Time = time.Now()
	l.all = append(l.all, stored{id, rec})
	l.last[id] = rec.Pos
	close(l.grew)
	l.grew = make(chan struct{})
	return rec.Pos, nil
}

// Forget drops the log's last n records, as a broker does that lost power
// before they were on its disk. Their places are used again.
func (l *Log) Forget(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = l.all[:len(l.all)-n]
	clear(l.last)
	for _, s := range l.all {
		l.last[s.id] = s.rec.Pos
	}
}

// Last implements core.Log.
func (l *Log) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	l.mu.Lock()
	pos := l.last[id]
	l.mu.Unlock()
	return l.At(ctx, id, pos)
}

// Prove implements core.Prover.
func (l *Log) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.last[id]; have != last {
		return fmt.Errorf("the last record is at %d: %w", have, core.ErrConflict)
	}
	return nil
}

// At implements core.Log.
func (l *Log) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if pos == 0 || pos > core.Pos(len(l.all)) || l.all[pos-1].id != id {
		return nil, fmt.Errorf("session %s has no record at %d: %w", id, pos, core.ErrNotFound)
	}
	rec := l.all[pos-1].rec
	return &rec, nil
}

// Read implements core.Log.
func (l *Log) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			r, _ := l.next(id, after)
			if r == nil || r.Pos > upTo {
				return
			}
			if !yield(r, nil) {
				return
			}
			after = r.Pos
		}
	}
}

// Follow implements core.Log.
func (l *Log) Follow(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			r, grew := l.next(id, after)
			if r != nil {
				if !yield(r, nil) {
					return
				}
				after = r.Pos
				continue
			}
			select {
			case <-grew:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// next returns the session's first record after after, or nil and a channel
// that is closed when the log has grown.
func (l *Log) next(id core.SessionID, after core.Pos) (*core.Record, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := after; i < core.Pos(len(l.all)); i++ {
		if l.all[i].id == id {
			rec := l.all[i].rec
			return &rec, nil
		}
	}
	return nil, l.grew
}
