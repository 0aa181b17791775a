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
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// silence is how long a follower hears nothing before it asks the leader
	// whether it missed something: republishing is at most once.
	silence = 3 * time.Second
	// followPending bounds what may wait for a slow follower. What does not
	// fit is dropped by the client and read from the stream later.
	followPending = 64
	followBytes   = 256 << 10
)

// Follow implements core.Log. It hears of new records on the live subject and
// fills every gap by reading, so a lost message costs time and nothing else.
func (l *Log) Follow(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Record, error] {
	return eager(ctx, l.FollowLazily(ctx, id, after))
}

// FollowLazily is Follow that leaves bodies to be fetched. While its caller is
// busy with a record it keeps about half a megabyte.
func (l *Log) FollowLazily(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Lazy, error] {
	return func(yield func(*core.Lazy, error) bool) {
		f := follower{log: l, id: id, at: after, yield: yield}
		if err := f.run(ctx); err != nil && !f.stopped {
			yield(nil, fmt.Errorf("follow session %s: %w", id, err))
		}
	}
}

// errStop ends a follower whose caller has stopped ranging.
var errStop = errors.New("stop")

type follower struct {
	log     *Log
	id      core.SessionID
	at      core.Pos // of the last record yielded
	yield   func(*core.Lazy, error) bool
	stopped bool
}

func (f *follower) run(ctx context.Context) error {
	sub, err := f.log.nc.SubscribeSync(livePrefix + f.log.subject(f.id))
	if err != nil {
		return readEdge(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // a closed connection has no subscriptions left
	if err := sub.SetPendingLimits(followPending, followBytes); err != nil {
		return err
	}
	// The subscription must be at the server before the first read.
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
		err := readEdge(f.log.nc.FlushWithContext(wait))
		cancel()
		if !errors.Is(err, errBusy) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// step takes in one live message, or what a silence hid.
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
		return readEdge(err)
	}
	pos, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil || core.Pos(pos) <= f.at {
		return nil // not a record, or one we have
	}
	before, err := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
	if err != nil || core.Pos(before) != f.at {
		return f.catchUp(ctx)
	}
	z, err := f.log.lazy(f.id, m)
	if err != nil {
		return err
	}
	return f.give(z)
}

// catchUp yields what lies between f.at and the leader's last record.
func (f *follower) catchUp(ctx context.Context) error {
	last, err := f.log.LastLink(ctx, f.id)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if last.Pos < f.at {
		return f.behind(ctx, last.Pos)
	}
	for idle := 0; f.at < last.Pos; {
		before := f.at
		for z, err := range f.log.scanUpTo(ctx, f.id, f.at, last.Pos, followBytes, idle) {
			if err != nil {
				return err
			}
			if err := f.give(z); err != nil {
				return err
			}
		}
		if f.at > before {
			idle = 0
			continue
		}
		idle++ // the copy that answered is late
		if err := retry.Pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// behind says what it means that the log's last record, at last, is before f.at.
// It is core.ErrLost where the record there is gone, and nil where the answer was
// stale or may have been: a leader that was cut off lacks what others have, so a
// quorum is asked, where the log has room to. What cannot be told now is asked
// again after the next silence.
func (f *follower) behind(ctx context.Context, last core.Pos) error {
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

func (f *follower) give(z *core.Lazy) error {
	f.at = z.Pos
	if !f.yield(z, nil) {
		f.stopped = true
		return errStop
	}
	return nil
}
