package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Metadata that every stream of a log carries, so that whoever opens it agrees
// on where a session lives.
const (
	metaVersion = "sesslog.version"
	metaShards  = "sesslog.shards"
)

// A stream on a single server flushes alone, so shards are its parallelism; in
// a cluster they spread the leaders.
const (
	singleShards  = 4
	clusterShards = 8
)

// bind makes or checks the streams of the log. Several nodes may do it at the
// same time. Stream 0 is made last: where it is there and another is not, that
// one was lost, and an empty one in its place would hide it.
func (l *Log) bind(ctx context.Context) error {
	have, err := l.shardsThere(ctx)
	if err != nil {
		return err
	}
	switch {
	case have != 0 && l.cfg.Shards != 0 && have != l.cfg.Shards:
		return fmt.Errorf("it was made with %d shards, the configuration says %d; the number cannot change: %w", have, l.cfg.Shards, core.ErrInvalid)
	case have != 0:
		l.cfg.Shards = have
	case l.cfg.Shards == 0 && l.cfg.Replicas > 1:
		l.cfg.Shards = clusterShards
	case l.cfg.Shards == 0:
		l.cfg.Shards = singleShards
	}
	for i := l.cfg.Shards - 1; i >= 0; i-- {
		info, err := l.bindShard(ctx, l.shardConfig(i), have == 0)
		if err != nil {
			return fmt.Errorf("stream %s: %w", streamName(l.cfg.Name, i), err)
		}
		l.learn(i, info)
		l.look(i)
	}
	return nil
}

// shardsThere returns how many shards the log has, 0 when it is not made yet.
func (l *Log) shardsThere(ctx context.Context) (int, error) {
	s, err := untilReady(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		return l.js.Stream(ctx, streamName(l.cfg.Name, 0))
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, readEdge(err)
	}
	n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[metaShards])
	if err != nil || n < 1 || n > MaxShards {
		return 0, fmt.Errorf("stream %s was not made by this program: its metadata has no %s: %w", streamName(l.cfg.Name, 0), metaShards, core.ErrInvalid)
	}
	return n, nil
}

func (l *Log) shardConfig(i int) jetstream.StreamConfig {
	prefix := shardSubject(l.cfg.Name, i)
	maxBytes := l.cfg.MaxBytes
	if maxBytes == 0 {
		maxBytes = -1
	}
	return jetstream.StreamConfig{
		Name:        streamName(l.cfg.Name, i),
		Description: "records of sesslog sessions; do not purge or edit by hand",
		Subjects:    []string{prefix + "*"},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew, // a full log refuses, it never forgets
		MaxBytes:    maxBytes,
		Replicas:    l.cfg.Replicas,
		AllowDirect: true,
		DenyDelete:  true,
		FirstSeq:    uint64(l.cfg.First),
		RePublish:   &jetstream.RePublish{Source: prefix + ">", Destination: livePrefix + prefix + ">"},
		Metadata: map[string]string{
			metaVersion: strconv.Itoa(core.Version),
			metaShards:  strconv.Itoa(l.cfg.Shards),
		},
	}
}

// FirstPos is where a log begins that is made at t: above every place that an
// earlier log of its name can have given out, as long as that stored fewer than a
// million records in a second, all its life. A writer that knew the earlier log,
// which a restore took the place of, expects a place that no record ever has.
// JSON can carry it as a number until the year 2242.
func FirstPos(t time.Time) core.Pos { return core.Pos(t.UnixMilli()) << 10 }

// bindShard makes the stream where mayMake is set, or checks the one that is
// there.
func (l *Log) bindShard(ctx context.Context, want jetstream.StreamConfig, mayMake bool) (*jetstream.StreamInfo, error) {
	s, err := untilReady(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		s, err := l.js.Stream(ctx, want.Name)
		if !mayMake || !errors.Is(err, jetstream.ErrStreamNotFound) {
			return s, err
		}
		s, err = l.js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
		// Another node was first. It begins where that one says.
		s, err = l.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, fmt.Errorf("%w: another node is making it: %w", errBusy, core.ErrUnavailable)
		}
		return s, err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("it was made and is not there any more; restore it from a backup: %w", core.ErrLost)
	}
	if err != nil {
		return nil, readEdge(err)
	}
	return s.CachedInfo(), checkShard(s.CachedInfo().Config, want)
}

// checkShard refuses a stream that would break a promise.
func checkShard(have, want jetstream.StreamConfig) error {
	bad := func(what string) error {
		return fmt.Errorf("%s; mend the stream's settings or choose another log name: %w", what, core.ErrInvalid)
	}
	if v, err := strconv.Atoi(have.Metadata[metaVersion]); err == nil && v > core.Version {
		return fmt.Errorf("it has format version %d, this node reads %d; upgrade the node: %w", v, core.Version, core.ErrTooNew)
	}
	switch {
	case have.Metadata[metaShards] != want.Metadata[metaShards]:
		return bad("it says the log has " + have.Metadata[metaShards] + " shards, others say " + want.Metadata[metaShards])
	case have.Storage != jetstream.FileStorage:
		return bad("it is kept in memory")
	case have.PersistMode != jetstream.DefaultPersistMode:
		return bad("it acknowledges records before they are written")
	case have.NoAck:
		return bad("it acknowledges nothing")
	case have.Mirror != nil, len(have.Sources) > 0, have.SubjectTransform != nil, have.Sealed:
		return bad("it takes its records from elsewhere, or takes none")
	case !slices.Equal(have.Subjects, want.Subjects):
		return bad(fmt.Sprintf("it captures %q, not %q", have.Subjects, want.Subjects))
	case have.Replicas < want.Replicas:
		return bad(fmt.Sprintf("it keeps %d replicas, the configuration asks for %d", have.Replicas, want.Replicas))
	case have.Retention != jetstream.LimitsPolicy:
		return bad("its retention is not limits")
	case have.Discard != jetstream.DiscardNew:
		return bad("it discards old records when it is full")
	case have.MaxAge != 0, have.MaxMsgsPerSubject > 0:
		return bad("it forgets records by age or number")
	case !have.AllowDirect:
		return bad("it does not allow direct get")
	case have.RePublish == nil || *have.RePublish != *want.RePublish:
		return bad("it does not republish records to followers")
	}
	return nil
}

// retry calls f until it answers, while the cluster has no leader yet or no
// peers, and until ctx ends.
func untilReady[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		v, err := f(try)
		cancel()
		if err == nil || !isPassing(err) {
			return v, err
		}
		if retry.Pause(ctx) != nil {
			return v, err
		}
	}
}

// isPassing reports whether err may go away by itself.
func isPassing(err error) bool {
	if errors.Is(err, errBusy) {
		return true
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return false
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503 || api.Code == 429 || api.ErrorCode == codeNoPeers || api.ErrorCode == codeNotLeader
	}
	return errors.Is(readEdge(err), errBusy)
}
