package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// ShardState is the size and the extent of a shard.
type ShardState struct {
	Stream   string   `json:"stream"`
	First    core.Pos `json:"first"`
	Last     core.Pos `json:"last"`
	Messages uint64   `json:"messages"`         // records, without barriers
	Missing  uint64   `json:"missing"`          // deleted messages between First and Last
	Bytes    uint64   `json:"bytes"`            // of records and barriers
	Limit    int64    `json:"limit"`            // of Bytes; 0 if only the server limits them
	Full     float64  `json:"full"`             // from 0 to 1, of Limit or of the server's capacity; see AppendLimit
	Broken   string   `json:"broken,omitempty"` // why nothing can be stored
	Sessions uint64   `json:"sessions"`
	Leader   string   `json:"leader,omitempty"`
	Replicas int      `json:"replicas"`
	Began    core.Pos `json:"-"` // first position when the shard was created
	// Followers are the replicas without the leader, those that it knows of.
	Followers []Replica `json:"-"`
	// Unsound is which promise the stream's settings break, or nil: OpenLog has checked
	// them, but they can be changed at any time.
	Unsound error `json:"-"`
}

// Lag returns the number of messages after position past. An empty shard has none,
// whatever its Last is.
func (st *ShardState) Lag(past core.Pos) uint64 {
	past = max(past, max(st.First, 1)-1)
	return uint64(max(st.Last, past) - past)
}

// State returns the state of a shard according to its leader.
func (l *Log) State(ctx context.Context, shard int) (ShardState, error) {
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		return ShardState{}, fmt.Errorf("state of %s: %w", streamName(l.cfg.Name, shard), err)
	}
	if err := l.readable(ctx, info.Config.Name, core.Pos(info.State.LastSeq)); err != nil {
		return ShardState{}, fmt.Errorf("state of %s: %w", info.Config.Name, err)
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
		Unsound:  checkShard(info.Config, l.shardConfig(shard)),
	}
	l.setShardCapacity(shard, info)
	l.readServerCapacity(shard)
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
		for _, p := range info.Cluster.Replicas {
			st.Followers = append(st.Followers, replicaOf(p))
		}
	}
	return st, nil
}

// Range implements engine.Log.
func (l *Log) Range(ctx context.Context, id core.SessionID) (first, last core.Pos, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	st, err := l.State(ctx, l.Shard(id))
	return st.First, st.Last, err
}

// A Replica is one server's copy of a shard.
type Replica struct {
	Name    string `json:"name"`    // "" if the leader has not met it since it started
	Offline bool   `json:"offline"` // the leader has not heard from it recently
}

const (
	// unknownServer begins what the server says in place of an unknown name.
	unknownServer = "Server name unknown"
	// heardWithin is how long a leader may not hear from a replica that runs. It asks
	// each once a second, and steps down if it hears from too few within ten seconds.
	heardWithin = 10 * time.Second
)

// replicaOf reads what the leader says of a replica. It calls one offline only minutes
// after that was killed, and one that it never heard from, as leader, was never active.
func replicaOf(p *jetstream.PeerInfo) Replica {
	r := Replica{Name: p.Name, Offline: p.Offline || p.Active > heardWithin || p.Active == 0 && !p.Current}
	if strings.HasPrefix(r.Name, unknownServer) {
		r.Name = ""
	}
	return r
}

// shardInfo returns the leader's state of a shard, including the number of its
// barriers.
func (l *Log) shardInfo(ctx context.Context, shard int) (*jetstream.StreamInfo, error) {
	return l.streamInfo(ctx, shard, barrierSubject(l.cfg.Name, shard))
}

// infoTimeout is how long streamInfo waits for a leader. An election takes up to ten
// seconds, and a request that was sent before it is never answered.
const infoTimeout = 15 * time.Second

// streamInfo returns the leader's state of a shard, including the number of messages
// of a subject.
func (l *Log) streamInfo(ctx context.Context, shard int, subject string) (*jetstream.StreamInfo, error) {
	request, err := json.Marshal(map[string]any{"subjects_filter": subject})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	return untilReady(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+streamName(l.cfg.Name, shard), request)
		if err != nil {
			return nil, mapReadError(err)
		}
		var got struct {
			jetstream.StreamInfo
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(reply.Data, &got); err != nil {
			return nil, fmt.Errorf("parse the server's answer: %v: %w", err, core.ErrUnavailable)
		}
		if got.Error != nil {
			return nil, mapAPIError(int(got.Error.ErrorCode), got.Error.Code, got.Error.Description)
		}
		return &got.StreamInfo, nil
	})
}
