package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// SessionsUpTo implements engine.Prefix.
func (l *Log) SessionsUpTo(ctx context.Context, shard int, upTo core.Pos) ([]core.SessionID, error) {
	st, err := l.State(ctx, shard)
	if err != nil {
		return nil, err
	}
	if upTo > st.Last {
		return nil, fmt.Errorf("shard %d ends at %d: %w", shard, st.Last, core.ErrInvalid)
	}
	ids := map[core.SessionID]bool{}
	for ch, err := range l.Walk(ctx, shard, st, upTo) {
		if err != nil {
			return nil, err
		}
		if ch.Subject != "" {
			ids[ch.Subject] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// Walk yields a Change for every message of a shard up to upTo, in order, and ends
// there. st is a recent state of the shard. No bodies are read.
func (l *Log) Walk(ctx context.Context, shard int, st ShardState, upTo core.Pos) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if st.Last == 0 || st.First > min(upTo, st.Last) { // empty, or truncated
			return
		}
		for m, err := range l.messagesToEnd(ctx, shard) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			meta, err := metadata(shard, m)
			if err != nil {
				yield(Change{}, err)
				return
			}
			at := core.Pos(meta.Sequence.Stream)
			if at <= upTo && !yield(change(m), nil) || at >= upTo || meta.NumPending == 0 {
				return
			}
		}
	}
}

func metadata(shard int, m jetstream.Msg) (*jetstream.MsgMetadata, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("a message of shard %d without a sequence: %v: %w", shard, err, core.ErrCorrupt)
	}
	return meta, nil
}

// Truncated returns an upper limit of the number of records that were truncated or
// purged intentionally: for each session with records up to upTo, the number of
// records before the first one that still exists.
func (l *Log) Truncated(ctx context.Context, shard int, upTo core.Pos) (uint64, error) {
	seen := map[core.SessionID]bool{}
	var truncated uint64
	for m, err := range l.messagesToEnd(ctx, shard) {
		if err != nil {
			return 0, err
		}
		meta, err := metadata(shard, m)
		if err != nil {
			return 0, err
		}
		if id, err := sessionOf(m.Subject()); err == nil && !seen[id] {
			seen[id] = true
			if seq, err := strconv.ParseUint(m.Headers().Get(hdrSeq), 10, 64); err == nil && seq > 1 {
				truncated += seq - 1
			}
		}
		if core.Pos(meta.Sequence.Stream) >= upTo || meta.NumPending == 0 {
			return truncated, nil
		}
	}
	return truncated, nil
}

// Drop implements engine.Prefix.
func (l *Log) Drop(ctx context.Context, shard int, upTo core.Pos) error {
	s, err := l.js.Stream(ctx, streamName(l.cfg.Name, shard))
	if err != nil {
		return mapReadError(err)
	}
	err = s.Purge(ctx, jetstream.WithPurgeSequence(uint64(upTo)+1))
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return mapReadError(err)
	}
	return l.written(ctx, shard, 0)
}

// Forget purges a session's records up to upTo and returns their number. The caller
// ensures that nothing needs them and that the session has a later record.
//
// The servers no longer return these records. Their bytes stay on disk until the
// server compacts or deletes the files of the stream that contain them. A purge by
// subject briefly blocks the shard's writers, so use Forget for single sessions and
// engine.Sessions.Truncate to free space.
func (l *Log) Forget(ctx context.Context, id core.SessionID, upTo core.Pos) (uint64, error) {
	request, err := json.Marshal(map[string]any{"filter": l.subject(id), "seq": uint64(upTo) + 1})
	if err != nil {
		return 0, err
	}
	var purged uint64 // a try whose answer is lost may have purged the rest
	for {
		n, err := l.purge(ctx, id, request)
		purged += n
		if err == nil {
			return purged, l.written(ctx, l.Shard(id), 0)
		}
		if !errors.Is(err, errBusy) {
			return purged, err
		}
		if retry.Pause(ctx) != nil {
			return purged, err
		}
	}
}

// purgeWait bounds one try of a purge, which reads all blocks with records of the
// session.
const purgeWait = 30 * time.Second

func (l *Log) purge(ctx context.Context, id core.SessionID, request []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+streamName(l.cfg.Name, l.Shard(id)), request)
	if err != nil {
		return 0, mapReadError(err)
	}
	var got struct {
		Purged uint64 `json:"purged"`
		Error  *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return 0, fmt.Errorf("parse the answer to a purge: %v: %w", err, core.ErrUnavailable)
	}
	if got.Error != nil {
		return 0, fmt.Errorf("purge records of session %s: %w", id, mapAPIError(got.Error.ErrCode, got.Error.Code, got.Error.Description))
	}
	return got.Purged, nil
}
