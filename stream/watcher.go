package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// heartbeat is how often the server says that a consumer is there. That two are
// missing must be noticed within one call of next, which counts anew each time.
const heartbeat = silence / 3

// A watcher takes the messages of a stream, in order and without a gap, from one
// consumer after another: a consumer is in the memory of one server, and what it
// hands out is not sent again when it does not arrive. nats.go has the like,
// which does not heed a context while it makes a consumer anew.
type watcher struct {
	log    *Log
	stream string
	at     core.Pos // of the last message yielded
	// lastOnly has it begin with the last message of each subject. Where it must
	// begin again, it goes on with all that lie behind the one it was at.
	lastOnly bool
	yield    func(jetstream.Msg, error) bool
}

// run ends with errStop when the caller stopped ranging, and with an error when
// ctx ends or the server makes no consumer. One that cannot be asked is asked
// again.
func (w *watcher) run(ctx context.Context) error {
	for {
		c, err := w.consumer(ctx)
		if err != nil {
			return err
		}
		if err := w.take(ctx, c); err != nil {
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
		// What a watcher that died leaves at the server goes soon.
		InactiveThreshold: time.Minute,
	}
	if w.lastOnly && w.at == 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.FilterSubjects = jetstream.DeliverLastPerSubjectPolicy, 0, []string{">"}
	}
	return w.log.js.CreateConsumer(ctx, w.stream, cfg)
}

// take yields what c hands out. It returns nil when the next consumer must go on.
func (w *watcher) take(ctx context.Context, c jetstream.Consumer) error {
	reconnects := w.log.nc.Stats().Reconnects
	msgs, err := c.Messages(jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return err
	}
	defer msgs.Stop()
	for handed := uint64(1); ; handed++ {
		m, err := w.next(ctx, msgs, reconnects)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Consumer != handed { // one did not arrive
			return nil
		}
		w.at = core.Pos(meta.Sequence.Stream)
		if !w.yield(m, nil) {
			return errStop
		}
	}
}

// next waits for a message. The error is jetstream.ErrNoHeartbeat where the server
// with the consumer has died. After a silence it looks whether the connection was
// lost meanwhile, and what was on its way with it.
func (w *watcher) next(ctx context.Context, msgs jetstream.MessagesContext, reconnects uint64) (jetstream.Msg, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, silence)
		m, err := msgs.Next(jetstream.NextContext(wait))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || w.log.nc.Stats().Reconnects != reconnects {
			return m, err
		}
	}
}
