package stream

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// stepDownInterval is the minimum time between two step-downs of a shard's
	// leader. A record that all replicas lack must not stop the log.
	stepDownInterval = time.Minute
	// electionTimeout bounds the wait for a new leader.
	electionTimeout = 10 * time.Second
)

// steppedDown is the last leader of a shard that this process made step down.
type steppedDown struct {
	busy atomic.Bool // held while name and at are used
	name string
	at   time.Time
}

// ReplaceLeader makes the leader of a session's shard step down because it lacks
// records of the session that were acknowledged. It reports whether another server
// leads now, see replaceLeader.
func (l *Log) ReplaceLeader(ctx context.Context, id core.SessionID) bool {
	return l.replaceLeader(ctx, l.Shard(id), math.MaxInt64)
}

// replaceLeader makes the leader of a shard step down because it lacks the message
// at pos, which was acknowledged: its disk was corrupt when it became the leader. It
// reports whether another server leads now. It does nothing if there is one replica,
// if the message was truncated, or within stepDownInterval of the last step-down.
func (l *Log) replaceLeader(ctx context.Context, shard int, pos core.Pos) bool {
	d := &l.steppedDown[shard]
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
	if time.Since(d.at) < stepDownInterval {
		return info.Cluster.Leader != d.name
	}
	d.name, d.at = info.Cluster.Leader, time.Now()
	if _, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+info.Config.Name, nil); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, electionTimeout)
	defer cancel()
	for retry.Pause(ctx) == nil {
		info, err := l.shardInfo(ctx, shard)
		if err == nil && info.Cluster != nil && info.Cluster.Leader != "" && info.Cluster.Leader != d.name {
			return true
		}
	}
	return false
}
