package stream

import (
	"context"
	"fmt"
)

// A Replica is one server's copy of a shard.
type Replica struct {
	Name    string `json:"name"`
	Offline bool   `json:"offline"` // it was not heard of lately
	Behind  uint64 `json:"behind"`  // records that it lacks, as far as the leader knows
}

// ShardHealth asks a shard's leader for the shard's settings and its copies. broken
// says which promise the settings break, or is nil; they were right when the log
// was opened, but anybody who may may change them. followers are the copies but
// the leader's own.
func (l *Log) ShardHealth(ctx context.Context, shard int) (followers []Replica, broken, err error) {
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		return nil, nil, fmt.Errorf("settings of %s: %w", streamName(l.cfg.Name, shard), err)
	}
	if info.Cluster != nil {
		for _, p := range info.Cluster.Replicas {
			followers = append(followers, Replica{Name: p.Name, Offline: p.Offline, Behind: p.Lag})
		}
	}
	return followers, checkShard(info.Config, l.shardConfig(shard)), nil
}
