package materializer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

const (
	// membersEvery is how often the active nodes are looked up.
	membersEvery = time.Second
	// membersTimeout is how long the active nodes may be unknown before every node owns
	// all shards.
	membersTimeout = 4 * membersEvery
)

// share finds out, until ctx ends, which shards this node owns: each shard has one
// owner while its nodes know each other. They do not agree, so for a moment a shard
// may have two owners or none. The log checks what they do, so work done twice is
// harmless.
func (m *Materializer) share(ctx context.Context) error {
	if m.cfg.Members == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	tick := time.NewTicker(membersEvery)
	defer tick.Stop()
	known := time.Now()
	for {
		members, err := m.cfg.Members(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			known = time.Now()
			m.membersKnown.Store(true)
			m.assign(ctx, members)
		case time.Since(known) >= membersTimeout && m.membersKnown.Swap(false):
			m.cfg.Logger.Warn("the active nodes are unknown; this node owns all shards", "err", err)
			m.ownAll(ctx, true)
		case time.Since(known) >= membersTimeout:
			m.ownAll(ctx, true)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// owns reports whether this node owns a shard.
func (m *Materializer) owns(shard int) bool { return (*m.owned.Load())[shard] }

// ownAll makes this node the owner of all shards, or of none.
func (m *Materializer) ownAll(ctx context.Context, all bool) {
	owned := make([]bool, m.cfg.Log.Shards())
	for i := range owned {
		owned[i] = all
	}
	m.setOwned(ctx, owned)
}

// assign makes this node the owner of its shards among the members.
func (m *Materializer) assign(ctx context.Context, members []string) {
	owned := make([]bool, m.cfg.Log.Shards())
	for i := range owned {
		owned[i] = owner(m.cfg.Log.Name(), i, members) == m.cfg.Node
	}
	m.setOwned(ctx, owned)
}

// setOwned sets the owned shards, and takes over the work of new ones.
func (m *Materializer) setOwned(ctx context.Context, owned []bool) {
	before := m.owned.Swap(&owned)
	if before == nil {
		return
	}
	came := map[int]bool{}
	for i := range owned {
		if owned[i] != (*before)[i] {
			m.cfg.Logger.Info("shard changes its owner", "shard", i, "owned", owned[i])
		}
		if owned[i] && !(*before)[i] {
			came[i] = true
		}
	}
	if len(came) > 0 {
		m.inherit(ctx, came)
	}
}

// inherit takes over the sessions of shards with records that no snapshot covers.
// Sessions that are not known yet count as idle. Rows that were put before are written
// first: dueWork has forgotten their sessions.
func (m *Materializer) inherit(ctx context.Context, shards map[int]bool) {
	ctx, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	m.cfg.Directory.Sync(ctx)
	ids := m.cfg.Directory.Behind()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		shard := m.cfg.Log.Shard(id)
		if shards[shard] && m.work[id] == nil {
			m.work[id] = &pendingWork{shard: shard, since: time.Now(), changed: time.Now().Add(-m.cfg.Policy.Idle)}
		}
	}
}

// owner returns the node of members that owns a shard: the one with the highest hash
// of its name and the shard's (rendezvous hashing). When a node joins or leaves,
// only its shards move.
func owner(log string, shard int, members []string) (name string) {
	var most uint64
	for _, node := range members {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", log, shard, node))
		if h := binary.BigEndian.Uint64(sum[:]); name == "" || h > most || h == most && node < name {
			name, most = node, h
		}
	}
	return name
}
