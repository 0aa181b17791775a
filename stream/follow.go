package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// silence is how long a follower receives nothing before it asks the leader
	// whether it missed a record: the server republishes at most once.
	silence = 3 * time.Second
	// followPending and followBytes bound the queue of a slow follower. The client
	// drops what does not fit, and the follower reads it from the stream later.
	followPending = 64
	followBytes   = 256 << 10
)

// Follow implements core.Log. It receives new records on the live subject and reads
// what it missed from the stream, so a lost message only causes a delay.
func (l *Log) Follow(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Record, error] {
	return eager(ctx, l.FollowLazily(ctx, id, after))
}

// FollowLazily is Follow without bodies; the caller fetches them. It keeps up to half
// a megabyte of memory while the caller handles a record.
func (l *Log) FollowLazily(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*storage.Lazy, error] {
	return func(yield func(*storage.Lazy, error) bool) {
		f := follower{log: l, id: id, at: after, yield: yield}
		if err := f.run(ctx); err != nil && !f.stopped {
			yield(nil, fmt.Errorf("follow session %s: %w", id, err))
		}
	}
}

// errStop ends a follower whose caller stopped ranging.
var errStop = errors.New("stop")

type follower struct {
	log     *Log
	id      core.SessionID
	at      core.Pos // of the last record yielded
	yield   func(*storage.Lazy, error) bool
	stopped bool
}

func (f *follower) run(ctx context.Context) error {
	sub, err := f.log.nc.SubscribeSync(livePrefix + f.log.subject(f.id))
	if err != nil {
		return mapReadError(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // a closed connection has no subscriptions left
	if err := sub.SetPendingLimits(followPending, followBytes); err != nil {
		return err
	}
	// The server must have the subscription before the first read.
	if err := f.flush(ctx); err != nil {
		return err
	}
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	for {
		if err := f.step(ctx, sub); err != nil {
			return err
		}
	}
}

func (f *follower) flush(ctx context.Context) error {
	for {
		wait, cancel := context.WithTimeout(ctx, f.log.cfg.AckWait)
		err := mapReadError(f.log.nc.FlushWithContext(wait))
		cancel()
		if !errors.Is(err, errBusy) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// step handles one live message. After a silence it reads what was missed.
func (f *follower) step(ctx context.Context, sub *nats.Subscription) error {
	wait, cancel := context.WithTimeout(ctx, silence)
	m, err := sub.NextMsgWithContext(wait)
	cancel()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrSlowConsumer):
		return f.catchUp(ctx)
	case err != nil:
		return mapReadError(err)
	}
	pos, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil || core.Pos(pos) <= f.at {
		return nil // not a record, or an old one
	}
	before, err := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
	if err != nil || core.Pos(before) != f.at {
		return f.catchUp(ctx)
	}
	z, err := f.log.lazy(f.id, m)
	if err != nil {
		return err
	}
	if err := f.log.readable(ctx, streamName(f.log.cfg.Name, f.log.Shard(f.id)), core.Pos(pos)); err != nil {
		return err
	}
	return f.deliver(z)
}

// catchUp yields the records from f.at to the leader's last one.
func (f *follower) catchUp(ctx context.Context) error {
	last, err := f.log.LastLink(ctx, f.id)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if last.Pos < f.at {
		return f.checkLost(ctx, last.Pos)
	}
	for idle := 0; f.at < last.Pos; {
		before := f.at
		for z, err := range f.log.scanUpTo(ctx, f.id, f.at, last.Pos, followBytes, idle) {
			if err != nil {
				return err
			}
			if err := f.deliver(z); err != nil {
				return err
			}
		}
		if f.at > before {
			idle = 0
			continue
		}
		idle++ // the replica that answered lags
		if err := retry.Pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkLost is called if the log's last record, at last, is before f.at. It returns
// core.ErrLost if the record at f.at no longer exists, and nil if the answer may be
// stale: a leader without a quorum may lack records, so checkLost asks for a proof if
// the log has space for one. If there is no answer now, the follower asks again after
// the next silence.
func (f *follower) checkLost(ctx context.Context, last core.Pos) error {
	_, err := f.log.LinkAt(ctx, f.id, f.at)
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	err = f.log.Prove(ctx, f.id, last)
	switch {
	case err == nil, errors.Is(err, core.ErrFull):
		return fmt.Errorf("the log no longer has the record at %d: %w", f.at, core.ErrLost)
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrUnavailable):
		return ctx.Err()
	}
	return err
}

func (f *follower) deliver(z *storage.Lazy) error {
	f.at = z.Pos
	if !f.yield(z, nil) {
		f.stopped = true
		return errStop
	}
	return nil
}
