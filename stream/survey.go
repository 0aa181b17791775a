package stream

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sesslog/sesslog/core"
)

// A Holding is what a shard holds of one session.
type Holding struct {
	First, Last core.Pos // of its records that are there
	Seq         uint64   // of the last one
	Kind        core.Kind
	Bytes       int64 // of its records' bodies, as they travelled
}

// Survey returns what a shard holds, by session: what the stream itself says,
// whatever any row says. It reads the headers of all that is in the shard and
// takes memory for each of its sessions.
func (l *Log) Survey(ctx context.Context, shard int) (map[core.SessionID]Holding, error) {
	all := map[core.SessionID]Holding{}
	st, err := l.State(ctx, shard)
	if err != nil || st.Messages == 0 {
		return all, err
	}
	for m, err := range l.messages(ctx, shard, 0) {
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("a message of shard %d without a sequence: %v: %w", shard, err, core.ErrCorrupt)
		}
		ch := change(m)
		if ch.Session != "" {
			h := all[ch.Session]
			if h.First == 0 {
				h.First = ch.Pos
			}
			size, _ := strconv.ParseInt(m.Headers().Get("Nats-Msg-Size"), 10, 64)
			all[ch.Session] = Holding{First: h.First, Last: ch.Pos, Seq: ch.Seq, Kind: ch.Kind, Bytes: h.Bytes + size}
		}
		if core.Pos(meta.Sequence.Stream) >= st.Last || meta.NumPending == 0 {
			break
		}
	}
	return all, nil
}

// A Member is one server's copy of a shard.
type Member struct {
	Name    string `json:"name"`
	Offline bool   `json:"offline"` // it was not heard of lately
	Behind  uint64 `json:"behind"`  // records that it lacks, as far as the leader knows
}

// Examine asks a shard's leader for the shard's settings and its copies. broken
// says which promise the settings break, or is nil; they were right when the log
// was opened, but anybody who may may change them. followers are the copies but
// the leader's own.
func (l *Log) Examine(ctx context.Context, shard int) (followers []Member, broken, err error) {
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		return nil, nil, fmt.Errorf("settings of %s: %w", streamName(l.cfg.Name, shard), err)
	}
	if info.Cluster != nil {
		for _, p := range info.Cluster.Replicas {
			followers = append(followers, Member{Name: p.Name, Offline: p.Offline, Behind: p.Lag})
		}
	}
	return followers, checkShard(info.Config, l.shardConfig(shard)), nil
}
