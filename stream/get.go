package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// Last implements core.Log: it reads from the stream's leader.
func (l *Log) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	z, err := l.lazyLast(ctx, id)
	if err != nil {
		return nil, err
	}
	return z.Whole(ctx)
}

// At implements core.Log: it reads from the stream's leader.
func (l *Log) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	z, err := l.lazyAt(ctx, id, pos)
	if err != nil {
		return nil, err
	}
	return z.Whole(ctx)
}

// LastLink returns the session's last record from the leader. The body is omitted if
// it has entries or is kept as a blob.
func (l *Log) LastLink(ctx context.Context, id core.SessionID) (*core.Record, error) {
	z, err := l.lazyLast(ctx, id)
	if err != nil {
		return nil, err
	}
	return link(ctx, z)
}

// LinkAt returns the session's record at pos from the leader. The body is omitted if
// it has entries or is kept as a blob.
func (l *Log) LinkAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	z, err := l.lazyAt(ctx, id, pos)
	if err != nil {
		return nil, err
	}
	return link(ctx, z)
}

// link returns the record of z. Entries, which may be large, are not unpacked.
func link(ctx context.Context, z *storage.Lazy) (*core.Record, error) {
	if z.Kind == core.KindAppend || z.Kind == core.KindAmend || !z.Packed.Spill().IsZero() {
		return &z.Record, nil
	}
	return z.Whole(ctx)
}

func (l *Log) lazyLast(ctx context.Context, id core.SessionID) (*storage.Lazy, error) {
	z, err := l.lastStored(ctx, id)
	if !errors.Is(err, core.ErrNotFound) {
		return z, err
	}
	return l.lastOrDamage(ctx, id, err)
}

func (l *Log) lastStored(ctx context.Context, id core.SessionID) (*storage.Lazy, error) {
	return l.get(ctx, id, map[string]any{"last_by_subj": l.subject(id)})
}

func (l *Log) lazyAt(ctx context.Context, id core.SessionID, pos core.Pos) (*storage.Lazy, error) {
	if pos == 0 {
		return nil, fmt.Errorf("record at 0 of session %s: %w", id, core.ErrNotFound)
	}
	return l.get(ctx, id, map[string]any{"seq": uint64(pos)})
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

// get reads one message from the leader. It retries until ctx ends while the stream
// has no leader.
func (l *Log) get(ctx context.Context, id core.SessionID, request map[string]any) (*storage.Lazy, error) {
	body, err := json.Marshal(request)
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

func (l *Log) getOnce(ctx context.Context, id core.SessionID, subject string, body []byte) (*storage.Lazy, error) {
	rctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	reply, err := l.nc.RequestWithContext(rctx, subject, body)
	if err != nil {
		return nil, mapReadError(err)
	}
	var got storedMsg
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return nil, fmt.Errorf("parse the answer to %s: %v: %w", subject, err, core.ErrUnavailable)
	}
	if got.Error != nil {
		return nil, fmt.Errorf("session %s: %w", id, mapAPIError(got.Error.ErrCode, got.Error.Code, got.Error.Description))
	}
	if got.Message == nil || got.Message.Subject != l.subject(id) {
		return nil, fmt.Errorf("session %s has no record there: %w", id, core.ErrNotFound)
	}
	pos := core.Pos(got.Message.Seq)
	var h nats.Header
	head, data, split := splitMessage(got.Message.Header, got.Message.Data)
	if len(head) > 0 {
		if h, err = nats.DecodeHeadersMsg(head); err != nil {
			return nil, &storage.RecordError{Pos: pos, Err: fmt.Errorf("session %s, message %d: headers: %v: %w", id, pos, err, core.ErrCorrupt)}
		}
	}
	f, err := readFrame(h, data)
	if err != nil {
		return nil, &storage.RecordError{Pos: pos, Err: fmt.Errorf("session %s, message %d: %w", id, pos, err)}
	}
	f.rec.Pos, f.rec.Time, f.split = pos, got.Message.Time, split
	return l.lazyOf(id, f), l.readable(ctx, streamName(l.cfg.Name, l.Shard(id)), pos)
}
