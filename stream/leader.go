package stream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// leadsFor is how long a leader may lead, however often it lacks something,
	// once another was made to give up: what all lack must not stop the log.
	leadsFor = time.Minute
	// electionTime is how long it may take until there is another.
	electionTime = 10 * time.Second
)

// A deposed is the last leader of a shard that this process made give up. One at a
// time sees to it.
type deposed struct {
	busy atomic.Bool
	name string
	at   time.Time
}

// replaceLeader has another server lead a shard whose leader lacks the message at
// pos, which was acknowledged: that server's disk was harmed, and it was made
// leader all the same. It reports whether another leads now, who may have it.
// Not so where there is one copy, where the message was dropped with its prefix,
// and within leadsFor of the last time.
func (l *Log) replaceLeader(ctx context.Context, shard int, pos core.Pos) bool {
	d := &l.deposed[shard]
	for !d.busy.CompareAndSwap(false, true) {
		if retry.Pause(ctx) != nil {
			return false
		}
	}
	defer d.busy.Store(false)
	info, err := l.shardInfo(ctx, shard)
	if err != nil || info.Config.Replicas < 2 || info.Cluster == nil || uint64(pos) < info.State.FirstSeq {
		return false
	}
	if time.Since(d.at) < leadsFor {
		return info.Cluster.Leader != d.name
	}
	d.name, d.at = info.Cluster.Leader, time.Now()
	if _, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+info.Config.Name, nil); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	for retry.Pause(ctx) == nil {
		info, err := l.shardInfo(ctx, shard)
		if err == nil && info.Cluster != nil && info.Cluster.Leader != "" && info.Cluster.Leader != d.name {
			return true
		}
	}
	return false
}
