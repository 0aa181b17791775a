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

// Metadata of every stream of a log, so that all nodes compute the same shard of a
// session.
const (
	metaVersion = "sesslog.version"
	metaShards  = "sesslog.shards"
)

// Default numbers of shards. Each stream flushes separately, so shards let a single
// server write in parallel, but records share a flush only with those of their stream.
// A cluster has as many as replicas: each server can lead one, and with more of them,
// each record costs more messages and flushes of Raft.
const (
	singleShards = 4
	groupShards  = 1
)

// bind creates or checks the streams of the log. Several nodes may do it at the same
// time. Stream 0 is created last: if it exists and another does not, that one was
// lost, and creating it again would hide the loss.
func (l *Log) bind(ctx context.Context) error {
	have, err := l.existingShards(ctx)
	if err != nil {
		return err
	}
	switch {
	case have != 0 && l.cfg.Shards != 0 && have != l.cfg.Shards:
		return fmt.Errorf("it has %d shards, the configuration says %d, and the number cannot change: %w", have, l.cfg.Shards, core.ErrInvalid)
	case have != 0:
		l.cfg.Shards = have
	case l.cfg.Shards == 0 && l.cfg.Replicas > 1:
		l.cfg.Shards = l.cfg.Replicas
	case l.cfg.Shards == 0 && l.cfg.Durable != nil:
		l.cfg.Shards = groupShards
	case l.cfg.Shards == 0:
		l.cfg.Shards = singleShards
	}
	for i := l.cfg.Shards - 1; i >= 0; i-- {
		info, err := l.bindShard(ctx, l.shardConfig(i), have == 0)
		if err != nil {
			return fmt.Errorf("stream %s: %w", streamName(l.cfg.Name, i), err)
		}
		if err := l.written(ctx, i, 0); err != nil {
			return fmt.Errorf("stream %s: %w", streamName(l.cfg.Name, i), err)
		}
		l.setShardCapacity(i, info)
		l.readServerCapacity(i)
	}
	return nil
}

// existingShards returns the number of shards of the log, or 0 if it does not exist.
func (l *Log) existingShards(ctx context.Context) (int, error) {
	s, err := untilReady(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		return l.js.Stream(ctx, streamName(l.cfg.Name, 0))
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, mapReadError(err)
	}
	n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[metaShards])
	if err != nil || n < 1 || n > maxShards {
		return 0, fmt.Errorf("stream %s was not created by this program: its metadata has no %s: %w", streamName(l.cfg.Name, 0), metaShards, core.ErrInvalid)
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
		Discard:     jetstream.DiscardNew, // a full log rejects records and never deletes old ones
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

// FirstPos returns the first position of a log that is created at t. It is above
// every position of an earlier log with the same name, unless that stored a million
// records per second all its life. After a restore, a writer that knows the earlier
// log therefore expects a position that no record has. JSON numbers can represent it
// until the year 2242.
func FirstPos(t time.Time) core.Pos { return core.Pos(t.UnixMilli()) << 10 }

// lostAfter is how long servers must answer that a stream of an existing log does not
// exist. One that has just restarted may not know a stream that it is to lead.
const lostAfter = 10 * time.Second

// bindShard checks the stream. If it does not exist and create is set, bindShard
// creates it.
func (l *Log) bindShard(ctx context.Context, want jetstream.StreamConfig, create bool) (*jetstream.StreamInfo, error) {
	began := time.Now()
	s, err := untilReady(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		s, err := l.js.Stream(ctx, want.Name)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return s, err
		}
		if !create {
			if time.Since(began) < lostAfter {
				err = fmt.Errorf("%w: its leader does not know it yet: %w", errBusy, core.ErrUnavailable)
			}
			return nil, err
		}
		s, err = l.js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
		// Another node created it first, with its own first position.
		s, err = l.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, fmt.Errorf("%w: another node is creating it: %w", errBusy, core.ErrUnavailable)
		}
		return s, err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("it existed and is lost; restore it from a backup: %w", core.ErrLost)
	}
	if err != nil {
		return nil, mapReadError(err)
	}
	return s.CachedInfo(), checkShard(s.CachedInfo().Config, want)
}

// checkShard returns an error if the stream's settings break a promise of core.Log.
func checkShard(have, want jetstream.StreamConfig) error {
	bad := func(what string) error {
		return fmt.Errorf("%s; fix the stream's settings or choose another log name: %w", what, core.ErrInvalid)
	}
	if v, err := strconv.Atoi(have.Metadata[metaVersion]); err == nil && v > core.Version {
		return fmt.Errorf("it has format version %d, this node reads up to %d; upgrade the node: %w", v, core.Version, core.ErrTooNew)
	}
	switch {
	case have.Metadata[metaShards] != want.Metadata[metaShards]:
		return bad("its metadata says " + have.Metadata[metaShards] + " shards, that of others " + want.Metadata[metaShards])
	case have.Storage != jetstream.FileStorage:
		return bad("its storage is not file")
	case have.PersistMode != jetstream.DefaultPersistMode:
		return bad("it acknowledges records before they are written")
	case have.NoAck:
		return bad("it acknowledges nothing")
	case have.Mirror != nil, len(have.Sources) > 0, have.SubjectTransform != nil, have.Sealed:
		return bad("it is a mirror, has sources or a subject transform, or is sealed")
	case !slices.Equal(have.Subjects, want.Subjects):
		return bad(fmt.Sprintf("it captures %q, not %q", have.Subjects, want.Subjects))
	case have.Replicas < want.Replicas:
		return bad(fmt.Sprintf("it has %d replicas, the configuration says %d", have.Replicas, want.Replicas))
	case have.Retention != jetstream.LimitsPolicy:
		return bad("its retention is not limits")
	case have.Discard != jetstream.DiscardNew:
		return bad("it deletes old records when it is full")
	case have.MaxAge != 0, have.MaxMsgsPerSubject > 0:
		return bad("it deletes records by age or number")
	case !have.AllowDirect:
		return bad("it does not allow direct get")
	case have.RePublish == nil || *have.RePublish != *want.RePublish:
		return bad("it does not republish records to followers")
	}
	return nil
}

// untilReady retries f until ctx ends while the cluster has no leader or no peers yet.
func untilReady[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		v, err := f(try)
		cancel()
		if err == nil || !isTemporary(err) {
			return v, err
		}
		if retry.Pause(ctx) != nil {
			return v, err
		}
	}
}

// isTemporary reports whether a retry may succeed after err.
func isTemporary(err error) bool {
	if errors.Is(err, errBusy) {
		return true
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return false
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503 || api.Code == 429 || api.ErrorCode == codeNoPeers || api.ErrorCode == codeNotLeader
	}
	return errors.Is(mapReadError(err), errBusy)
}
