package stream

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/spans"
)

// LogConfig configures a Log. A zero field has its default.
type LogConfig struct {
	Name     string        // default "main"
	Shards   int           // number of streams, fixed when the log is created; default: that of the existing log, else 4, or as many as replicas if there are several
	Replicas int           // servers that store each record: 1, 3 or 5; default 1
	First    core.Pos      // first position of the shards of a new log; default 1, see FirstPos
	MaxBytes int64         // size limit of each shard; default no limit
	AckWait  time.Duration // timeout of one try; its outcome is then unknown; default 2 s
	Blobs    storage.Blobs // stores bodies above SpillSize; required
	// Grace is the minimum age of a blob that garbage collection may delete. 0 if
	// blobs are never collected.
	Grace  time.Duration
	Tracer trace.Tracer // makes the spans of stored records; default none
	// Capacity returns how much of its storage the server uses, in bytes (limit 0:
	// unknown), or why it cannot write to a stream at all. The log calls it up to
	// four times a second per shard. Optional: without it, only MaxBytes limits a
	// shard.
	Capacity func(stream string) (used, limit int64, err error)
	// Durable is required if the server answers before it flushes; default: it does not.
	Durable Durable
}

// A Log is a core.Log in JetStream: one stream per shard, one subject per session.
// The server checks the sequences.
type Log struct {
	cfg      LogConfig
	nc       *nats.Conn
	js       jetstream.JetStream
	inbox    inbox
	capacity [maxShards]capacity

	steppedDown [maxShards]steppedDown
	backfilled  atomic.Uint64
}

var _ core.Log = (*Log)(nil)

// OpenLog opens the log named in cfg over nc and creates its streams if they do not
// exist. It returns an error if existing streams break a promise of core.Log, for
// example if they delete old records.
//
// The caller keeps nc and closes it after the last use of the Log. nc should not
// buffer while it is disconnected (nats.ReconnectBufSize(-1)): a buffered record may
// be stored long after its writer gave up.
func OpenLog(ctx context.Context, nc *nats.Conn, cfg LogConfig) (*Log, error) {
	if cfg.Name == "" {
		cfg.Name = "main"
	}
	if cfg.Replicas == 0 {
		cfg.Replicas = 1
	}
	cfg.Tracer = spans.Or(cfg.Tracer)
	if cfg.AckWait == 0 {
		cfg.AckWait = 2 * time.Second
	}
	if err := checkLogName(cfg.Name); err != nil {
		return nil, err
	}
	if cfg.Shards < 0 || cfg.Shards > maxShards {
		return nil, fmt.Errorf("log %s: %d shards, 1 to %d are allowed: %w", cfg.Name, cfg.Shards, maxShards, core.ErrInvalid)
	}
	if cfg.Blobs == nil {
		return nil, fmt.Errorf("log %s: no blob store for large bodies: %w", cfg.Name, core.ErrInvalid)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, nc: nc, js: js, inbox: inbox{nc: nc}}
	if err := l.bind(ctx); err != nil {
		return nil, fmt.Errorf("log %s: %w", cfg.Name, err)
	}
	return l, nil
}

// Name returns the log's name.
func (l *Log) Name() string { return l.cfg.Name }

// Shards returns the number of shards.
func (l *Log) Shards() int { return l.cfg.Shards }

// Shard returns the shard of a session.
func (l *Log) Shard(id core.SessionID) int { return shardOf(id, l.cfg.Shards) }

func (l *Log) subject(id core.SessionID) string {
	return shardSubject(l.cfg.Name, l.Shard(id)) + string(id)
}

// Identity distinguishes this log from a log of the same name on other servers. It
// is the creation time of the first stream by the servers' clock, in a form that can
// be part of an object's name.
func (l *Log) Identity(ctx context.Context) (string, error) {
	info, err := l.shardInfo(ctx, 0)
	if err != nil {
		return "", fmt.Errorf("identity of log %s: %w", l.cfg.Name, err)
	}
	return info.Created.UTC().Format("20060102T150405.000000000Z"), nil
}
