package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// ShardLog truncates the beginning of shards. *stream.Log implements it.
type ShardLog interface {
	// SessionsUpTo returns the ids of the sessions with records in a shard up to upTo, in
	// order. It returns core.ErrInvalid if the shard ends before upTo.
	SessionsUpTo(ctx context.Context, shard int, upTo core.Pos) ([]core.SessionID, error)
	// Drop removes a shard's records up to upTo unconditionally.
	Drop(ctx context.Context, shard int, upTo core.Pos) error
}

// BlockedError names the session that prevents a truncation.
type BlockedError struct {
	Session core.SessionID
	Err     error
}

func (e *BlockedError) Error() string { return fmt.Sprintf("session %s: %v", e.Session, e.Err) }

// Unwrap returns why.
func (e *BlockedError) Unwrap() error { return e.Err }

// Truncate removes the records of a shard of l up to upTo, after it has ensured that
// no session needs them: it loads each session from the leader, verifies its
// snapshot and chain, and writes a checkpoint if its base is not after upTo. It
// stores the erase records of erased sessions again. checkpoint writes snapshot and
// record; it is called concurrently, for up to Config.Concurrency sessions. l is the
// log of ss. On error nothing was removed; checkpoints may have been written. If a
// session cannot be read, or accepts no checkpoint, the error is the first
// BlockedError; sessions in progress are completed and no other is started.
//
// If the brokers flush only every Config.FlushEvery, they may lose a checkpoint but
// not the truncation. Truncate then waits twice that time and verifies everything
// again.
func (ss *Sessions) Truncate(ctx context.Context, l ShardLog, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) error {
	flushed := ss.cfg.FlushEvery == 0
	for {
		wrote, err := ss.checkpointAll(ctx, l, shard, upTo, checkpoint)
		if err != nil {
			return fmt.Errorf("records of shard %d up to %d were kept: %w", shard, upTo, err)
		}
		if flushed && (!wrote || ss.cfg.FlushEvery == 0) {
			return l.Drop(ctx, shard, upTo)
		}
		if err := retry.Wait(ctx, 2*ss.cfg.FlushEvery); err != nil {
			return fmt.Errorf("records of shard %d up to %d were kept: %w", shard, upTo, err)
		}
		flushed = true
	}
}

// copyErase stores the erase record of a session again if it lies in the prefix: who
// erased it, when and why stays known, and the id is never reused.
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
		wrote = true // the next read tells
		if err != nil && retry.Pause(ctx) != nil {
			return false, err
		}
	}
}

// FlushEvery returns how often the brokers flush acknowledged records, 0 for before
// each answer.
func (ss *Sessions) FlushEvery() time.Duration { return ss.cfg.FlushEvery }
