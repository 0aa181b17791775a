package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/internal/spans"
)

// LogConfig is what a Log needs to know. The zero value of a field means its
// default.
type LogConfig struct {
	Name     string        // default "main"
	Shards   int           // streams the log is spread over, fixed when it is made; default what the log has, else 4, or 8 where it is replicated
	Replicas int           // servers that hold each record: 1, 3 or 5; default 1
	First    core.Pos      // where the shards begin when the log is made; default 1, see FirstPos
	MaxBytes int64         // bytes each shard may take; default no limit
	AckWait  time.Duration // how long one try may take before its outcome counts as unknown; default 2 s
	Blobs    core.Blobs    // where bodies above SpillSize go; required
	// Grace is that of the store of Blobs, as in Config. 0 where nobody collects them.
	Grace  time.Duration
	Tracer trace.Tracer // makes spans of records that are stored; default none
	// Capacity says how much of its room the server has taken that keeps the log, in
	// bytes (limit 0: it does not know), or why it cannot write to a stream at
	// all. It is asked a few times a second. Optional: without it, a log is as
	// full as its streams' MaxBytes say.
	Capacity func(stream string) (used, limit int64, err error)
}

// A Log is a core.Log kept in JetStream: one stream per shard, one subject per
// session. Its sequence checks are the server's own.
type Log struct {
	cfg   LogConfig
	nc    *nats.Conn
	js    jetstream.JetStream
	rooms [MaxShards]room

	deposed    [MaxShards]deposed
	backfilled atomic.Uint64
}

var _ core.Log = (*Log)(nil)

// OpenLog binds to the log named in cfg over nc, making its streams where they
// are absent. It is an error when streams are there that would break a promise
// of core.Log, such as one that forgets old records. The caller keeps nc and
// closes it after the last use of the Log. nc should keep nothing for later while
// it is down (nats.ReconnectBufSize(-1)): what it keeps may be stored long after
// its writer gave up, and the writer cannot be told that it was not sent.
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
	if cfg.Shards < 0 || cfg.Shards > MaxShards {
		return nil, fmt.Errorf("log %s: %d shards, 1 to %d are allowed: %w", cfg.Name, cfg.Shards, MaxShards, core.ErrInvalid)
	}
	if cfg.Blobs == nil {
		return nil, fmt.Errorf("log %s: no place for large bodies: %w", cfg.Name, core.ErrInvalid)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, nc: nc, js: js}
	if err := l.bind(ctx); err != nil {
		return nil, fmt.Errorf("log %s: %w", cfg.Name, err)
	}
	return l, nil
}

// Name is the log's name.
func (l *Log) Name() string { return l.cfg.Name }

// Shards is how many streams the log is spread over.
func (l *Log) Shards() int { return l.cfg.Shards }

// Shard is the shard that a session lives in.
func (l *Log) Shard(id core.SessionID) int { return shardOf(id, l.cfg.Shards) }

func (l *Log) subject(id core.SessionID) string {
	return shardSubject(l.cfg.Name, l.Shard(id)) + string(id)
}

// Append implements core.Log. Answers that only ask for patience (a subject
// with a record on its way, a stream without a leader, a full queue) are met
// with the same record again, until ctx ends. From AppendLimit on, records that
// add entries are refused.
func (l *Log) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (_ core.Pos, err error) {
	ctx, span := l.storing(ctx, id, r)
	defer func() { spans.End(span, err) }()
	shard := l.Shard(id)
	if err := l.admit(ctx, shard, r.Kind); err != nil {
		return 0, err
	}
	f, err := pack(r)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if !f.spill.IsZero() {
		if _, err := l.cfg.Blobs.Put(ctx, r.Body); err != nil {
			return 0, fmt.Errorf("body of %d bytes: %w", len(r.Body), err)
		}
	}
	m := f.message(l.subject(id))
	if text := spans.Text(ctx); text != "" {
		m.Header.Set(hdrTrace, text)
	}
	opts := []jetstream.PublishOpt{
		jetstream.WithExpectStream(streamName(l.cfg.Name, shard)),
		jetstream.WithExpectLastSequencePerSubject(uint64(after)),
		jetstream.WithRetryAttempts(0),
	}
	for {
		pos, err := l.publish(ctx, m, opts)
		if err == nil {
			l.stored(shard, m)
			return pos, l.putAgain(ctx, f.spill, r.Body, began)
		}
		if !errors.Is(err, errBusy) {
			return pos, err
		}
		if retry.PauseSince(ctx, began) != nil {
			return 0, err
		}
	}
}

// putAgain puts a spilled body again whose record took long to be stored. Where
// it cannot, the same append again does.
func (l *Log) putAgain(ctx context.Context, spill core.Digest, body []byte, began time.Time) error {
	if spill.IsZero() || !core.GraceSpent(time.Now(), began, l.cfg.Grace) {
		return nil
	}
	if _, err := l.cfg.Blobs.Put(ctx, body); err != nil {
		return fmt.Errorf("the record is stored, its body of %d bytes is to be put again: %v: %w", len(body), err, core.ErrUncertain)
	}
	return nil
}

func (l *Log) publish(ctx context.Context, m *nats.Msg, opts []jetstream.PublishOpt) (core.Pos, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("given up before it was sent: %w: %w", err, core.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	ack, err := l.js.PublishMsg(ctx, m, opts...)
	if err != nil {
		return 0, edge(err)
	}
	return core.Pos(ack.Sequence), nil
}

// Last implements core.Log: it asks the stream's leader.
func (l *Log) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	z, err := l.get(ctx, id, l.lastAsk(id))
	if err != nil {
		return nil, err
	}
	return z.Whole(ctx)
}

// At implements core.Log: it asks the stream's leader.
func (l *Log) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	z, err := l.lazyAt(ctx, id, pos)
	if err != nil {
		return nil, err
	}
	return z.Whole(ctx)
}

// lazyAt is At that leaves the body to be fetched.
func (l *Log) lazyAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Lazy, error) {
	if pos == 0 {
		return nil, fmt.Errorf("record at 0 of session %s: %w", id, core.ErrNotFound)
	}
	return l.get(ctx, id, map[string]any{"seq": uint64(pos)})
}

func (l *Log) lastAsk(id core.SessionID) map[string]any {
	return map[string]any{"last_by_subj": l.subject(id)}
}

// storedMsg is the server's answer to STREAM.MSG.GET.
type storedMsg struct {
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
	Error *struct {
		Code        int    `json:"code"`
		ErrCode     int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

// get asks the leader for one message, again and again while the stream has no
// leader, until ctx ends.
func (l *Log) get(ctx context.Context, id core.SessionID, ask map[string]any) (*core.Lazy, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	subject := "$JS.API.STREAM.MSG.GET." + streamName(l.cfg.Name, l.Shard(id))
	began := time.Now()
	for {
		z, err := l.getOnce(ctx, id, subject, body)
		if err == nil || !errors.Is(err, errBusy) {
			return z, err
		}
		if retry.PauseSince(ctx, began) != nil {
			return nil, err
		}
	}
}

func (l *Log) getOnce(ctx context.Context, id core.SessionID, subject string, body []byte) (*core.Lazy, error) {
	rctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	reply, err := l.nc.RequestWithContext(rctx, subject, body)
	if err != nil {
		return nil, readEdge(err)
	}
	var got storedMsg
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return nil, fmt.Errorf("the server's answer to %s: %v: %w", subject, err, core.ErrUnavailable)
	}
	if got.Error != nil {
		return nil, fmt.Errorf("session %s: %w", id, apiEdge(got.Error.ErrCode, got.Error.Code, got.Error.Description))
	}
	if got.Message == nil || got.Message.Subject != l.subject(id) {
		return nil, fmt.Errorf("session %s has no record there: %w", id, core.ErrNotFound)
	}
	pos := core.Pos(got.Message.Seq)
	var h nats.Header
	if len(got.Message.Header) > 0 {
		if h, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return nil, &core.RecordError{Pos: pos, Err: fmt.Errorf("session %s, message %d: headers: %v: %w", id, pos, err, core.ErrCorrupt)}
		}
	}
	f, err := readFrame(h, got.Message.Data)
	if err != nil {
		return nil, &core.RecordError{Pos: pos, Err: fmt.Errorf("session %s, message %d: %w", id, pos, err)}
	}
	f.rec.Pos, f.rec.Time = pos, got.Message.Time
	return l.lazyOf(id, f), nil
}

// fetch gets a spilled body. One that is gone is damage: it must not look as
// if the record were not there.
func (l *Log) fetch(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := l.cfg.Blobs.Get(ctx, d)
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("%w %s is gone: %v: %w", core.ErrBody, d, err, core.ErrCorrupt)
	}
	if err == nil && core.DigestOf(b) != d {
		return nil, fmt.Errorf("%w %s is other bytes: %w", core.ErrBody, d, core.ErrCorrupt)
	}
	if errors.Is(err, core.ErrCorrupt) {
		err = fmt.Errorf("%w %s: %w", core.ErrBody, d, err)
	}
	return b, err
}

// LastLink returns the session's last record from the leader, without a body that
// is kept as a blob.
func (l *Log) LastLink(ctx context.Context, id core.SessionID) (*core.Record, error) {
	return small(ctx)(l.get(ctx, id, l.lastAsk(id)))
}

// LinkAt returns the session's record at pos from the leader, without a body that
// is kept as a blob.
func (l *Log) LinkAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	return small(ctx)(l.lazyAt(ctx, id, pos))
}

// small makes a record of z, with its body unless that is spilled.
func small(ctx context.Context) func(*core.Lazy, error) (*core.Record, error) {
	return func(z *core.Lazy, err error) (*core.Record, error) {
		if err != nil {
			return nil, err
		}
		if !z.Packed.Spill().IsZero() {
			return &z.Record, nil
		}
		return z.Whole(ctx)
	}
}
