package stream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// kindMember is the kind of the heartbeats of nodes that share work. They are
// separate from those of KindNode because they are more frequent.
const kindMember = "crew"

const (
	// memberSilent is how long a heartbeat of a member counts, by the brokers' clock.
	// It is several intervals, so that one or two slow answers remove no member.
	memberSilent = 4500 * time.Millisecond
	// memberWait bounds one call of Members or LeaveMembers.
	memberWait = 2 * time.Second
	// maxMembers bounds the members that are read.
	maxMembers = 1000
)

// Members sends a heartbeat of this node and returns the sorted names of all nodes,
// including this one, that sent one in the last 4.5 seconds by the brokers' clock.
// Call it every second. Returns core.ErrUnavailable if the brokers do not answer.
//
// The result is a hint: use it only to distribute work that may be done twice.
func (p *Presence) Members(ctx context.Context) ([]string, error) {
	names, err := p.beatAndRead(ctx)
	if ctx.Err() == nil {
		p.setErr(err)
	}
	return names, err
}

func (p *Presence) beatAndRead(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, memberWait)
	defer cancel()
	revision, err := p.put(ctx, p.memberKey(), heartbeatValue{Presence: p.me})
	if err != nil {
		return nil, err
	}
	p.noteRevision(revision)
	list, err := p.readMembers(ctx)
	if err != nil {
		return nil, fmt.Errorf("presence of log %s: %w", p.log, err)
	}
	var now time.Time // the time of this node's heartbeat by the brokers' clock
	for i := range list {
		if list[i].Agent == p.me.Agent {
			now = list[i].Seen
		}
	}
	if now.IsZero() {
		return nil, fmt.Errorf("presence of log %s: the heartbeat of this node is missing: %w", p.log, core.ErrUnavailable)
	}
	var names []string
	for i := range list {
		if now.Sub(list[i].Seen) < memberSilent {
			names = append(names, list[i].Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// readMembers reads the last heartbeat of each member in one request. It does not
// watch the bucket, because the cluster would have to agree on a consumer each time.
func (p *Presence) readMembers(ctx context.Context) ([]session.Present, error) {
	request, err := json.Marshal(map[string]any{"multi_last": []string{"$KV." + p.bucketName() + "." + kindMember + ".*"}, "batch": maxMembers})
	if err != nil {
		return nil, err
	}
	msgs, _, err := p.inbox.directGet(ctx, "KV_"+p.bucketName(), request, maxMembers, memberWait)
	if err != nil {
		return nil, err
	}
	var list []session.Present
	for _, m := range msgs {
		seen, terr := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
		var b heartbeatValue
		if terr == nil && m.Header.Get("KV-Operation") == "" && json.Unmarshal(m.Data, &b) == nil {
			list = append(list, session.Present{Presence: b.Presence, Kind: kindMember, Seen: seen.UTC()})
		}
	}
	return list, nil
}

// LeaveMembers removes this node from the members, so that others take over its work
// at once.
func (p *Presence) LeaveMembers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, memberWait)
	defer cancel()
	return p.delete(ctx, p.memberKey())
}

// memberKey is derived from the node's name, not from the process, so that a node
// that restarts quickly stays a member.
func (p *Presence) memberKey() string {
	sum := sha256.Sum256([]byte(p.me.Agent))
	return kindMember + "." + hex.EncodeToString(sum[:8])
}
