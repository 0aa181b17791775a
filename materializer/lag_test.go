package materializer_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A lagging log has a leader that does not know a session the first few times it is
// asked.
type lagging struct {
	engine.Log
	answers atomic.Int32 // that are still wrong
}

func (l *lagging) LastLink(ctx context.Context, id core.SessionID) (*core.Record, error) {
	if l.answers.Add(-1) >= 0 {
		return nil, fmt.Errorf("session %s: %w", id, core.ErrNotFound)
	}
	return l.Log.LastLink(ctx, id)
}

func (l *lagging) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	if l.answers.Load() > 0 {
		return func(func(*core.Record, error) bool) {}
	}
	return l.Log.Read(ctx, id, after, upTo)
}

// A node whose server applies a record before the leader does still makes its row.
func TestLaggingLeaderDelaysRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	log := &lagging{Log: r.log}
	mine := *r
	mine.sessions = engine.NewSessions(engine.Config{Log: log, Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	mine.cache = materializer.NewCache(mine.sessions, 64<<20)
	log.answers.Store(3)
	_, d, stop := mine.run(t, materializer.Policy{})
	defer stop()
	s := r.create(t, "session-of-a-slow-leader")
	await(t, "the row", func() bool { return d.Seq(s.ID()) == 1 })
}
