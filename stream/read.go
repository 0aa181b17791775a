package stream

import (
	"context"
	"encoding/json"
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

// Limits of one round trip of a read, which is also the memory that a slow reader
// keeps.
const (
	readBatch = 256
	readBytes = 1 << 20
)

// Read implements core.Log with the server's batched direct get. Any replica may
// answer, so the read may end before the leader's last record.
func (l *Log) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return eager(ctx, l.Scan(ctx, id, after, upTo))
}

// Scan is Read without bodies; the caller fetches them.
func (l *Log) Scan(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*storage.Lazy, error] {
	return l.scan(ctx, id, after, upTo, readBytes)
}

// eager yields the records of seq with their bodies.
func eager(ctx context.Context, seq iter.Seq2[*storage.Lazy, error]) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for z, err := range seq {
			var r *core.Record
			if err == nil {
				r, err = z.Whole(ctx)
			}
			if err != nil && z != nil {
				err = &storage.RecordError{Pos: z.Pos, Err: err}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// scan is Scan with about size bytes in one round trip.
func (l *Log) scan(ctx context.Context, id core.SessionID, after, upTo core.Pos, size int) iter.Seq2[*storage.Lazy, error] {
	return func(yield func(*storage.Lazy, error) bool) {
		for after < upTo {
			msgs, more, err := l.batch(ctx, id, after, size)
			if errors.Is(err, errBusy) && retry.Pause(ctx) == nil {
				continue
			}
			if err != nil {
				yield(nil, fmt.Errorf("read session %s after %d: %w", id, after, err))
				return
			}
			for i, m := range msgs {
				msgs[i] = nil // release it while the caller is slow
				z, err := l.lazyOrLeader(ctx, id, m, after)
				if errors.Is(err, core.ErrNotFound) {
					return // truncated meanwhile, or the leader lacks it
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if z.Pos > upTo {
					return
				}
				if z.Pos <= after {
					continue
				}
				if after > 0 && z.After > after && !l.backfill(ctx, id, after, z.After, true, yield) {
					return
				}
				if !yield(z, nil) {
					return
				}
				after = z.Pos
			}
			if !more || len(msgs) == 0 {
				return
			}
		}
	}
}

// batch fetches the session's next messages after position after. more says that the
// replica has further ones.
func (l *Log) batch(ctx context.Context, id core.SessionID, after core.Pos, size int) (msgs []*nats.Msg, more bool, err error) {
	request, err := json.Marshal(map[string]any{
		"seq": uint64(after) + 1, "next_by_subj": l.subject(id),
		"batch": readBatch, "max_bytes": size,
	})
	if err != nil {
		return nil, false, err
	}
	msgs, pending, err := l.inbox.directGet(ctx, streamName(l.cfg.Name, l.Shard(id)), request, readBatch, l.cfg.AckWait)
	if err != nil {
		return nil, false, err
	}
	last, err := l.lastOf(id, msgs)
	if err != nil {
		return nil, false, err
	}
	return msgs, pending > 0, l.readable(ctx, streamName(l.cfg.Name, l.Shard(id)), last)
}

// lastOf returns the position of the last intact message of a batch, 0 if there is none.
// It returns errBusy if a message was lost in transit.
func (l *Log) lastOf(id core.SessionID, msgs []*nats.Msg) (last core.Pos, err error) {
	before := "0" // what the next message names; unknown after a damaged one
	for _, m := range msgs {
		if l.isDamaged(id, m) {
			before = ""
			continue
		}
		if before != "" && m.Header.Get("Nats-Last-Sequence") != before {
			return 0, fmt.Errorf("%w: a message of the batch was lost: %w", errBusy, core.ErrUnavailable)
		}
		before = m.Header.Get("Nats-Sequence")
		n, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: a message without a sequence: %w", errBusy, core.ErrUnavailable)
		}
		last = core.Pos(n)
	}
	return last, nil
}

// directGet asks any replica of a stream for a batch of up to most messages. pending is
// the number of messages that the replica has beyond them. timeout is that of each message.
func (b *inbox) directGet(ctx context.Context, stream string, request []byte, most int, timeout time.Duration) (msgs []*nats.Msg, pending int, err error) {
	reply, answers, err := b.open(most + 1) // and the end
	if err != nil {
		return nil, 0, mapReadError(err)
	}
	defer b.close(reply)
	if err := b.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, reply, request); err != nil {
		return nil, 0, mapReadError(err)
	}
	for {
		m, err := next(ctx, answers, timeout)
		if err != nil {
			return nil, 0, mapReadError(err)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			msgs = append(msgs, m)
		case "204": // end of batch
			pending, _ := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
			return msgs, pending, nil
		case "404":
			return msgs, 0, nil
		case "408": // invalid request
			return nil, 0, fmt.Errorf("the server answered %s %s: %w", status, m.Header.Get("Description"), core.ErrUnavailable)
		default:
			if !isStatus(status) { // the end of damaged headers
				msgs = append(msgs, m)
				continue
			}
			return nil, 0, fmt.Errorf("%w: the server answered %s %s: %w", errBusy, status, m.Header.Get("Description"), core.ErrUnavailable)
		}
	}
}

func isStatus(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil && len(s) == 3
}

func next(ctx context.Context, answers <-chan *nats.Msg, timeout time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case m := <-answers:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
