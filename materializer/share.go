package materializer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

const (
	// CrewEvery is how often it is found out who is at work.
	CrewEvery = time.Second
	// crewLost is how long nobody may know before every node does everything.
	crewLost = 4 * CrewEvery
)

// share finds out, until ctx ends, which shards this node looks after: every
// shard is one node's, as long as its nodes know of each other. They agree on
// nothing, so for a moment two may look after a shard, or none. What they do is
// checked by the log itself, so work that is done twice is work, and no more.
func (m *Materializer) share(ctx context.Context) error {
	if m.cfg.Crew == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	tick := time.NewTicker(CrewEvery)
	defer tick.Stop()
	known := time.Now()
	for {
		crew, err := m.cfg.Crew(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			known = time.Now()
			m.crewKnown.Store(true)
			m.assign(crew)
		case time.Since(known) >= crewLost && m.crewKnown.Swap(false):
			m.cfg.Logger.Warn("nobody knows which nodes are at work; this one looks after all shards", "err", err)
			m.assume(true)
		case time.Since(known) >= crewLost:
			m.assume(true)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// owns reports whether this node looks after a shard.
func (m *Materializer) owns(shard int) bool { return (*m.mine.Load())[shard] }

// assume has this node look after all shards, or none.
func (m *Materializer) assume(all bool) {
	mine := make([]bool, m.cfg.Log.Shards())
	for i := range mine {
		mine[i] = all
	}
	m.takeOver(mine)
}

// assign has this node look after the shards that are its own among crew's.
func (m *Materializer) assign(crew []string) {
	mine := make([]bool, m.cfg.Log.Shards())
	for i := range mine {
		mine[i] = owner(m.cfg.Log.Name(), i, crew) == m.cfg.Node
	}
	m.takeOver(mine)
}

// takeOver takes the shards over that are mine now and were not.
func (m *Materializer) takeOver(mine []bool) {
	before := m.mine.Swap(&mine)
	if before == nil {
		return
	}
	came := map[int]bool{}
	for i := range mine {
		if mine[i] != (*before)[i] {
			m.cfg.Logger.Info("shard changes hands", "shard", i, "mine", mine[i])
		}
		if mine[i] && !(*before)[i] {
			came[i] = true
		}
	}
	if len(came) > 0 {
		m.inherit(came)
	}
}

// inherit has the sessions of shards looked after that others have left with
// records that no snapshot covers. Those that are not remembered are idle.
func (m *Materializer) inherit(shards map[int]bool) {
	ids := m.cfg.Directory.Behind()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		shard := m.cfg.Log.Shard(id)
		if shards[shard] && m.tails[id] == nil {
			m.tails[id] = &tail{shard: shard, since: time.Now(), changed: time.Now().Add(-m.cfg.Policy.Idle)}
		}
	}
}

// owner is the node of crew that looks after a shard: the one whose name and the
// shard's come to the highest hash. When a node comes or goes, only what it
// looked after changes hands.
func owner(log string, shard int, crew []string) (name string) {
	var most uint64
	for _, node := range crew {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", log, shard, node))
		if h := binary.BigEndian.Uint64(sum[:]); name == "" || h > most || h == most && node < name {
			name, most = node, h
		}
	}
	return name
}
