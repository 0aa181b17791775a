package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// A Prefix is the beginning of shards, which can be dropped. A Log is one.
type ShardLog interface {
	// SessionsUpTo returns the sessions that have records in a shard up to
	// upTo, by name. core.ErrInvalid where the shard ends before.
	SessionsUpTo(ctx context.Context, shard int, upTo core.Pos) ([]core.SessionID, error)
	// Drop drops a shard's records up to upTo, whoever needs them.
	Drop(ctx context.Context, shard int, upTo core.Pos) error
}

// A BlockedError names the session because of which a prefix stays.
type BlockedError struct {
	Session core.SessionID
	Err     error
}

func (e *BlockedError) Error() string { return fmt.Sprintf("session %s: %v", e.Session, e.Err) }

// Unwrap returns why.
func (e *BlockedError) Unwrap() error { return e.Err }

// Truncate drops the records of a shard of l up to upTo, once no session needs
// any of them: each session that has one there is loaded from the leader, its
// snapshot read and its chain proved, and gets a checkpoint where its base does
// not lie behind; the erase record of one that was erased is stored again.
// checkpoint writes one, snapshot and record; it is called from several goroutines
// at once, for Config.Concurrency sessions at most. l is the log of ss. On error nothing
// was dropped; checkpoints may have been written. A session that cannot be read,
// or takes no checkpoint, is a BlockedError: the first one that was met. The
// sessions at work then come to their end, and no other is begun.
//
// Where the brokers flush only every Config.FlushEvery, they may yet forget such
// a checkpoint, but no drop. So twice that time passes before the drop, and all
// is proved again then.
func (ss *Sessions) Truncate(ctx context.Context, l ShardLog, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) error {
	flushed := ss.cfg.FlushEvery == 0
	for {
		wrote, err := ss.checkpointAll(ctx, l, shard, upTo, checkpoint)
		if err != nil {
			return fmt.Errorf("records of shard %d up to %d stay: %w", shard, upTo, err)
		}
		if flushed && (!wrote || ss.cfg.FlushEvery == 0) {
			return l.Drop(ctx, shard, upTo)
		}
		if err := retry.Wait(ctx, 2*ss.cfg.FlushEvery); err != nil {
			return fmt.Errorf("records of shard %d up to %d stay: %w", shard, upTo, err)
		}
		flushed = true
	}
}

// raise stores the erase record of a session once more where it lies in the
// prefix: who erased it, when and why is told for ever, and its id is never used
// again.
func (ss *Sessions) copyErase(ctx context.Context, id core.SessionID, upTo core.Pos) (wrote bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.Timeout)
	defer cancel()
	for {
		last, err := ss.cfg.Log.Last(ctx, id)
		switch {
		case err != nil:
			return false, err
		case last.Kind != core.KindErase:
			return false, fmt.Errorf("a %s record follows its erase record: %w", last.Kind, core.ErrCorrupt)
		case last.Pos > upTo:
			return wrote, nil
		}
		if err := ss.checkFollows(ctx, id, last); err != nil {
			return false, err
		}
		r := &core.Record{
			Kind: core.KindErase, Seq: last.Seq + 1, Base: last.Pos,
			Head: last.Head, Writer: last.Writer, Epoch: last.Epoch, Body: last.Body,
		}
		r.Chain = last.Chain.Next(r)
		_, err = ss.cfg.Log.Append(ctx, id, last.Pos, r)
		if err != nil && !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrUncertain) {
			return false, err
		}
		wrote = true // reading on tells
		if err != nil && retry.Pause(ctx) != nil {
			return false, err
		}
	}
}

// FlushEvery is how often the brokers flush what they acknowledged, 0 for before
// every answer.
func (ss *Sessions) FlushEvery() time.Duration { return ss.cfg.FlushEvery }
