package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/internal/spans"
)

// Append implements core.Log. It retries until ctx ends if the server is only busy:
// another record of the subject is in progress, the stream has no leader, a queue is
// full. Above AppendLimit it rejects records that add entries.
func (l *Log) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (_ core.Pos, err error) {
	ctx, span := l.startSpan(ctx, id, r)
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
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(uint64(after), 10))
	for {
		pos, err := l.publish(ctx, shard, m)
		if err == nil {
			return pos, l.refreshBlob(ctx, f.spill, r.Body, began)
		}
		if !errors.Is(err, errBusy) {
			return pos, err
		}
		if retry.PauseSince(ctx, began) != nil {
			return 0, err
		}
	}
}

// refreshBlob puts a spilled body again if storing its record took so long that the
// blob may have been collected meanwhile. If it fails, a retry of the append does it.
func (l *Log) refreshBlob(ctx context.Context, spill core.Digest, body []byte, began time.Time) error {
	if spill.IsZero() || !storage.GraceSpent(time.Now(), began, l.cfg.Grace) {
		return nil
	}
	if _, err := l.cfg.Blobs.Put(ctx, body); err != nil {
		return fmt.Errorf("the record is stored, but storing its body of %d bytes again failed: %v: %w", len(body), err, core.ErrUncertain)
	}
	return nil
}

// publish stores m in a shard, in one try, and counts its size.
func (l *Log) publish(ctx context.Context, shard int, m *nats.Msg) (core.Pos, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("canceled before it was sent: %w: %w", err, core.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	stream := streamName(l.cfg.Name, shard)
	m.Header.Set(jetstream.ExpectedStreamHeader, stream)
	reply, err := l.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, mapError(err)
	}
	pos, err := readAck(reply.Data, stream)
	if err != nil {
		return 0, mapError(err)
	}
	if err := l.written(ctx, shard, pos); err != nil {
		return 0, err
	}
	l.countStored(shard, m)
	return pos, nil
}

// readAck returns the position in the server's answer to a publish. It reads the usual
// answer without the package json, which takes a tenth of the time of a publish.
func readAck(answer []byte, stream string) (core.Pos, error) {
	if rest, ok := strings.CutPrefix(string(answer), `{"stream":"`+stream+`","seq":`); ok && strings.HasSuffix(rest, "}") {
		if pos, err := strconv.ParseUint(rest[:len(rest)-1], 10, 64); err == nil && pos > 0 {
			return core.Pos(pos), nil
		}
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.PubAck
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return 0, fmt.Errorf("%w: %w", jetstream.ErrInvalidJSAck, err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	if ack.Stream != stream || ack.Sequence == 0 {
		return 0, jetstream.ErrInvalidJSAck
	}
	return core.Pos(ack.Sequence), nil
}

// hdrTrace carries the W3C trace context of a sampled append. It is not part of the
// chain. The name is not "traceparent", because the server would then trace the
// message itself.
const hdrTrace = "Sess-Trace"

// startSpan starts the span of one append.
func (l *Log) startSpan(ctx context.Context, id core.SessionID, r *core.Record) (context.Context, trace.Span) {
	ctx, span := l.cfg.Tracer.Start(ctx, "log append", trace.WithSpanKind(trace.SpanKindProducer))
	if span.IsRecording() {
		span.SetAttributes(
			spans.Session(id), attribute.String("sess.kind", string(r.Kind)), attribute.String("sess.cursor", core.CursorOf(r.Seq, r.Chain).String()),
			attribute.Int("sess.shard", l.Shard(id)), attribute.Int("sess.bytes", len(r.Body)),
		)
	}
	return ctx, span
}
