package stream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// ShardState is how much a shard holds.
type ShardState struct {
	Stream   string   `json:"stream"`
	First    core.Pos `json:"first"`
	Last     core.Pos `json:"last"`
	Messages uint64   `json:"messages"`         // records; barriers do not count
	Missing  uint64   `json:"missing"`          // messages between First and Last that are gone
	Bytes    uint64   `json:"bytes"`            // of records and barriers
	Limit    int64    `json:"limit"`            // of Bytes; 0 for none but the server's
	Full     float64  `json:"full"`             // from 0 to 1, by Limit or by the server's own room; see AppendLimit
	Broken   string   `json:"broken,omitempty"` // why nothing can be stored
	Sessions uint64   `json:"sessions"`
	Leader   string   `json:"leader,omitempty"`
	Replicas int      `json:"replicas"`
	Began    core.Pos `json:"-"` // where the shard was made to begin
}

// Lag is how many messages one who read the shard up to past has yet to read. A
// shard may begin at any place, and an empty one has none, whatever its Last is.
func (st *ShardState) Lag(past core.Pos) uint64 {
	past = max(past, max(st.First, 1)-1)
	return uint64(max(st.Last, past) - past)
}

// State asks the shard's leader how much it holds.
func (l *Log) State(ctx context.Context, shard int) (ShardState, error) {
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		return ShardState{}, fmt.Errorf("state of %s: %w", streamName(l.cfg.Name, shard), err)
	}
	st := ShardState{
		Stream:   info.Config.Name,
		First:    core.Pos(info.State.FirstSeq),
		Last:     core.Pos(info.State.LastSeq),
		Messages: info.State.Msgs,
		Missing:  uint64(max(info.State.NumDeleted, 0)),
		Bytes:    info.State.Bytes,
		Sessions: info.State.NumSubjects,
		Replicas: info.Config.Replicas,
		Began:    core.Pos(info.Config.FirstSeq),
	}
	l.learn(shard, info)
	l.look(shard)
	full, broken := l.full(shard)
	st.Full, st.Limit = full, max(info.Config.MaxBytes, 0)
	if broken != nil {
		st.Broken = broken.Error()
	}
	if n := info.State.Subjects[barrierSubject(l.cfg.Name, shard)]; n > 0 {
		st.Messages -= n
		st.Sessions--
	}
	if info.Cluster != nil {
		st.Leader = info.Cluster.Leader
	}
	return st, nil
}

// shardInfo asks the shard's leader for its state and how many barriers are in
// it.
func (l *Log) shardInfo(ctx context.Context, shard int) (*jetstream.StreamInfo, error) {
	ask, err := json.Marshal(map[string]any{"subjects_filter": barrierSubject(l.cfg.Name, shard)})
	if err != nil {
		return nil, err
	}
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+streamName(l.cfg.Name, shard), ask)
	if err != nil {
		return nil, readEdge(err)
	}
	var got struct {
		jetstream.StreamInfo
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return nil, fmt.Errorf("the server's answer: %v: %w", err, core.ErrUnavailable)
	}
	if got.Error != nil {
		return nil, apiEdge(int(got.Error.ErrorCode), got.Error.Code, got.Error.Description)
	}
	return &got.StreamInfo, nil
}
