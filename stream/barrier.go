package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// barrierToken is the last token of the subject of a shard's barriers. No
// session is called so: ids have no "~".
const barrierToken = "~read"

func barrierSubject(log string, shard int) string { return shardSubject(log, shard) + barrierToken }

var _ core.Prover = (*Log)(nil)

// Prove implements core.Prover with one message, a barrier. It is stored in the
// session's stream, where it is nobody's record, only if the session's last
// record is the one at last; and it is acknowledged only by a leader that a
// quorum follows. A leader that was cut off stores it nowhere.
func (l *Log) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	shard := l.Shard(id)
	if err := l.below(shard, barrierLimit, "barriers"); err != nil {
		return err
	}
	m := nats.NewMsg(barrierSubject(l.cfg.Name, shard))
	_, err := l.publish(ctx, m, []jetstream.PublishOpt{
		jetstream.WithExpectStream(streamName(l.cfg.Name, shard)),
		jetstream.WithExpectLastSequenceForSubject(uint64(last), l.subject(id)),
		jetstream.WithRetryAttempts(0),
	})
	if errors.Is(err, core.ErrUncertain) { // a barrier that may be there proves nothing and does no harm
		return fmt.Errorf("barrier for session %s: %v: %w", id, err, core.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("barrier for session %s: %w", id, err)
	}
	l.stored(shard, m)
	return nil
}

// ProveEndsBefore reports whether a shard ended before pos at some moment of the
// call, as a quorum of the log's servers has it; then it has lost what was at pos.
// Its leader's word alone is not enough: one that was cut off lacks what others
// have. Where the shard seems to end there, a barrier is stored: its place tells.
// A shard without room for barriers is taken at its leader's word.
func (l *Log) ProveEndsBefore(ctx context.Context, shard int, pos core.Pos) (bool, error) {
	st, err := l.State(ctx, shard)
	if err == nil && pos < st.Began {
		return true, nil // the shard was made anew since
	}
	if err != nil || st.Last >= pos {
		return false, err
	}
	if l.below(shard, barrierLimit, "barriers") != nil {
		return true, nil
	}
	m := nats.NewMsg(barrierSubject(l.cfg.Name, shard))
	at, err := l.publish(ctx, m, []jetstream.PublishOpt{
		jetstream.WithExpectStream(streamName(l.cfg.Name, shard)),
		jetstream.WithRetryAttempts(0),
	})
	if err != nil {
		return false, fmt.Errorf("barrier in shard %d: %w", shard, err)
	}
	l.stored(shard, m)
	return at <= pos, nil
}
