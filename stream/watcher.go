package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// heartbeat is the interval of the server's heartbeats for a consumer. It is short
// enough that one call of next, which restarts the count, detects two missing ones.
const heartbeat = silence / 3

// A watcher delivers the messages of a stream in order and without gaps. It creates a
// new consumer when one fails: a consumer lives in the memory of one server, which
// does not resend lost messages. The ordered consumer of nats.go does the same, but
// ignores the context while it creates a consumer.
type watcher struct {
	log    *Log
	stream string
	at     core.Pos // of the last message yielded
	// lastOnly starts with the last message of each subject. A second consumer
	// continues with all messages after at.
	lastOnly bool
	// ends makes the watcher stop at the end of a stream with one copy, also if its last
	// message is damaged: the server skips that, so no message shows the end.
	ends  bool
	yield func(jetstream.Msg, error) bool
	// passed is called at most once, after a while of silence, if the stream has one copy
	// and nothing that can be read between the last message and that position: its end is
	// damaged. Optional.
	passed func(core.Pos) bool
}

// run returns errStop when the caller stops ranging, and another error when ctx ends
// or the server cannot create a consumer.
func (w *watcher) run(ctx context.Context) error {
	for {
		c, err := w.consumer(ctx)
		if err != nil {
			return err
		}
		if err := w.deliver(ctx, c); err != nil {
			return err
		}
		if err := retry.Pause(ctx); err != nil {
			return err
		}
	}
}

func (w *watcher) consumer(ctx context.Context) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   uint64(w.at) + 1,
		AckPolicy:     jetstream.AckNonePolicy,
		HeadersOnly:   true,
		MemoryStorage: true,
		Replicas:      1,
		// The server removes the consumer of a dead watcher.
		InactiveThreshold: time.Minute,
	}
	if w.lastOnly && w.at == 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.FilterSubjects = jetstream.DeliverLastPerSubjectPolicy, 0, []string{">"}
	}
	return w.log.js.CreateConsumer(ctx, w.stream, cfg)
}

// deliver yields the messages of c. It returns nil when the next consumer must
// continue.
func (w *watcher) deliver(ctx context.Context, c jetstream.Consumer) error {
	reconnects := w.log.nc.Stats().Reconnects
	msgs, err := c.Messages(jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return err
	}
	defer msgs.Stop()
	silent := time.Duration(0) // since the last message, if w ends
	for expected := uint64(1); ; expected++ {
		m, err := w.next(ctx, msgs, reconnects)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errSilent) && !w.ends {
			if !w.passEnd(ctx, c, expected-1) {
				return errStop
			}
			expected--
			continue
		}
		if errors.Is(err, errSilent) {
			silent += endSilence
			info, err := c.Info(ctx)
			switch {
			case err != nil || info.Delivered.Consumer != expected-1 || silent >= silence:
				return nil // a message was lost, or the request for them
			case info.NumPending == 0:
				return errStop
			}
			expected--
			continue
		}
		silent = 0
		if err != nil {
			return nil
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Consumer != expected { // a message was lost
			return nil
		}
		if err := w.log.readable(ctx, w.stream, core.Pos(meta.Sequence.Stream)); err != nil {
			return err
		}
		w.at = core.Pos(meta.Sequence.Stream)
		if !w.yield(m, nil) {
			return errStop
		}
	}
}

// passEnd calls passed if the server has sent all that it has, which are the received
// messages, and the stream ends after the last one. It reports whether the caller wants
// more.
func (w *watcher) passEnd(ctx context.Context, c jetstream.Consumer, received uint64) bool {
	passed := w.passed
	w.passed = nil
	s, err := w.log.js.Stream(ctx, w.stream) // before the consumer: a message may arrive meanwhile
	if err != nil {
		return true
	}
	info, err := c.Info(ctx)
	if err != nil || info.NumPending > 0 || info.Delivered.Consumer != received {
		return true
	}
	if last := core.Pos(s.CachedInfo().State.LastSeq); last > w.at {
		return passed(last)
	}
	return true
}

// endSilence is how long a watcher that ends receives nothing before it asks the server
// whether there is more.
const endSilence = 300 * time.Millisecond

// errSilent means that no message came within endSilence.
var errSilent = errors.New("silent")

// next waits for a message. It returns jetstream.ErrNoHeartbeat if the consumer's
// server has died, and a deadline error if the connection was lost meanwhile, and
// possibly messages with it.
func (w *watcher) next(ctx context.Context, msgs jetstream.MessagesContext, reconnects uint64) (jetstream.Msg, error) {
	for {
		pause := silence
		if w.ends || w.passed != nil {
			pause = endSilence
		}
		wait, cancel := context.WithTimeout(ctx, pause)
		m, err := msgs.Next(jetstream.NextContext(wait))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || w.log.nc.Stats().Reconnects != reconnects {
			return m, err
		}
		if w.ends || w.passed != nil {
			return nil, errSilent
		}
	}
}
