package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// A barrier is an empty message that belongs to no session. Only a leader with a
// quorum can store one, so its position proves the end of a shard.

// barrierToken is the last token of the subject of a shard's barriers. It is not a
// valid session id, because of the "~".
const barrierToken = "~read"

func barrierSubject(log string, shard int) string { return shardSubject(log, shard) + barrierToken }

// barrier stores a barrier in a shard and returns its position. The server checks what
// the headers in expect say. It returns core.ErrFull above barrierLimit. A barrier that
// may have been stored proves nothing and can be retried, so it is core.ErrUnavailable.
func (l *Log) barrier(ctx context.Context, shard int, expect nats.Header) (core.Pos, error) {
	if err := l.below(shard, barrierLimit, "barriers"); err != nil {
		return 0, err
	}
	pos, err := l.publish(ctx, shard, &nats.Msg{Subject: barrierSubject(l.cfg.Name, shard), Header: expect})
	if errors.Is(err, core.ErrUncertain) {
		err = fmt.Errorf("%v: %w", err, core.ErrUnavailable)
	}
	return pos, err
}

var _ core.Prover = (*Log)(nil)

// Prove implements core.Prover with one barrier. The server stores it only if the
// session's last record is the one at last, and a leader that lost its quorum cannot
// store it.
func (l *Log) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	_, err := l.barrier(ctx, l.Shard(id), nats.Header{
		jetstream.ExpectedLastSubjSeqHeader:     {strconv.FormatUint(uint64(last), 10)},
		jetstream.ExpectedLastSubjSeqSubjHeader: {l.subject(id)},
	})
	if err != nil {
		return fmt.Errorf("barrier for session %s: %w", id, err)
	}
	return nil
}

// ProveEndsBefore reports whether a shard ended before pos at some moment of the
// call, according to a quorum of the servers; it has then lost the record at pos. If
// the leader says that the shard ends before pos, another one is tried; if that
// agrees, ProveEndsBefore stores a barrier and compares its position, because a leader
// that lost its quorum may lack records. It trusts the leader alone if the shard has
// no space for a barrier.
func (l *Log) ProveEndsBefore(ctx context.Context, shard int, pos core.Pos) (bool, error) {
	st, err := l.State(ctx, shard)
	if err == nil && pos < st.Began {
		return true, nil // the shard was created again since
	}
	if err == nil && st.Last < pos && l.replaceLeader(ctx, shard, pos) {
		// The barrier must not be the first message of a leader that lost its disk: the
		// others would take it for one that they have.
		st, err = l.State(ctx, shard)
	}
	if err != nil || st.Last >= pos {
		return false, err
	}
	if l.below(shard, barrierLimit, "barriers") != nil {
		return true, nil
	}
	at, err := l.barrier(ctx, shard, nats.Header{})
	if err != nil {
		return false, fmt.Errorf("barrier in shard %d: %w", shard, err)
	}
	return at <= pos, nil
}
