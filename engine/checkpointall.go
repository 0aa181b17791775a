package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/sesslog/sesslog/core"
)

// Nearly all of what it takes to vacate a small session is waiting, for the broker
// and for the object store, so several are seen to at once. A large one takes its
// size in memory several times over, so not many of those.
const (
	// vacateAtOnce is the default of Config.Concurrency.
	defaultConcurrency = 8
	// vacateBytes bounds the size of the sessions that are seen to at once. A larger
	// one is seen to alone.
	defaultTruncateBytes = 32 << 20
)

// vacateAll vacates every session with records up to upTo, and reports whether
// anything had to be stored for one of them. Without an error, each was vacated.
func (ss *Sessions) checkpointAll(ctx context.Context, l ShardLog, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) (wrote bool, err error) {
	ids, err := l.SessionsUpTo(ctx, shard, upTo)
	if err != nil {
		return false, err
	}
	var stored atomic.Bool
	room := semaphore.NewWeighted(ss.truncateBytes)
	g, going := errgroup.WithContext(ctx) // going ends with the first error
	g.SetLimit(ss.cfg.Concurrency)
	for _, id := range ids {
		g.Go(func() error {
			if err := going.Err(); err != nil {
				return err
			}
			last, err := ss.lastOf(ctx, id)
			if err != nil {
				return &BlockedError{id, err}
			}
			weight := ss.sizeOf(ctx, id, last)
			if err := room.Acquire(going, weight); err != nil {
				return err
			}
			defer room.Release(weight)
			did, err := ss.checkpointPast(ctx, id, upTo, checkpoint) // not going: what is under way comes to its end
			if err != nil {
				return &BlockedError{id, err}
			}
			if did {
				stored.Store(true)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	return stored.Load(), nil
}

// weigh returns the size of a session as its base tells, and where that tells
// nothing all that there is room for. What came behind the base is not counted: a
// snapshot is due before that is much.
func (ss *Sessions) sizeOf(ctx context.Context, id core.SessionID, last *core.Record) int64 {
	base := last
	switch last.Kind {
	case core.KindErase:
		return 0
	case core.KindOpen, core.KindCheckpoint:
	default:
		var err error
		if base, err = ss.cfg.Log.LinkAt(ctx, id, last.Base); err != nil {
			return ss.truncateBytes // whoever loads it finds out why
		}
	}
	if len(base.Body) == 0 {
		return ss.truncateBytes // it is large enough to be a blob
	}
	size := int64(len(base.Body))
	if base.Kind == core.KindCheckpoint {
		m, err := core.ReadManifest(base)
		if err != nil || m.Size < 0 {
			return ss.truncateBytes
		}
		size = m.Size
	}
	return min(size, ss.truncateBytes)
}

// vacate sees to it that a session needs no record up to upTo, and reports
// whether anything had to be stored for it.
func (ss *Sessions) checkpointPast(ctx context.Context, id core.SessionID, upTo core.Pos, checkpoint func(context.Context, *Session) error) (wrote bool, err error) {
	s, err := ss.Open(ctx, id)
	if errors.Is(err, core.ErrDeleted) { // it was erased: what is in the trash can be opened
		return ss.copyErase(ctx, id, upTo)
	}
	if err != nil || s.needsFrom > upTo {
		return false, err
	}
	if len(s.orphans) > 0 {
		if err := s.RecoverOrphans(ctx); err != nil {
			return false, err
		}
	}
	if err := checkpoint(ctx, s); err != nil {
		return false, err
	}
	if s, err = ss.Open(ctx, id); err != nil { // as a reader finds it now
		return false, err
	}
	if s.needsFrom <= upTo {
		return false, fmt.Errorf("it is read from %d on in spite of a new checkpoint: %w", s.needsFrom, core.ErrConflict)
	}
	return true, nil
}
