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

// Checkpointing a small session is mostly waiting for the broker and the object store,
// so several are processed concurrently. A large one takes a multiple of its size in
// memory.
const (
	// defaultConcurrency is the default of Config.Concurrency.
	defaultConcurrency = 8
	// defaultTruncateBytes bounds the total size of the sessions that are processed
	// concurrently. A larger session is processed alone.
	defaultTruncateBytes = 32 << 20
)

// checkpointAll ensures that no session needs records up to upTo. It reports whether
// it stored anything.
func (ss *Sessions) checkpointAll(ctx context.Context, l ShardLog, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) (wrote bool, err error) {
	ids, err := l.SessionsUpTo(ctx, shard, upTo)
	if err != nil {
		return false, err
	}
	var stored atomic.Bool
	room := semaphore.NewWeighted(ss.truncateBytes)
	g, going := errgroup.WithContext(ctx) // ends with the first error
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
			did, err := ss.checkpointPast(ctx, id, upTo, checkpoint) // not going: sessions in progress are completed
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

// sizeOf returns the size of a session according to its base, or the whole budget if
// that is unknown. Records after the base are not counted: a snapshot is due before
// they are large.
func (ss *Sessions) sizeOf(ctx context.Context, id core.SessionID, last *core.Record) int64 {
	base := last
	switch last.Kind {
	case core.KindErase:
		return 0
	case core.KindOpen, core.KindCheckpoint:
	default:
		var err error
		if base, err = ss.cfg.Log.LinkAt(ctx, id, last.Base); err != nil {
			return ss.truncateBytes // loading it returns the error
		}
	}
	if len(base.Body) == 0 {
		return ss.truncateBytes // stored as a blob, so large
	}
	size := int64(len(base.Body))
	if base.Kind == core.KindCheckpoint {
		m, err := base.Manifest()
		if err != nil || m.Size < 0 {
			return ss.truncateBytes
		}
		size = m.Size
	}
	return min(size, ss.truncateBytes)
}

// checkpointPast ensures that a session needs no record up to upTo. It reports
// whether it stored anything.
func (ss *Sessions) checkpointPast(ctx context.Context, id core.SessionID, upTo core.Pos, checkpoint func(context.Context, *Session) error) (wrote bool, err error) {
	s, err := ss.Open(ctx, id)
	if errors.Is(err, core.ErrDeleted) { // erased; a session in the trash can be opened
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
		return false, fmt.Errorf("it is still read from %d after a new checkpoint: %w", s.needsFrom, core.ErrConflict)
	}
	return true, nil
}
