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
)

// kindCrew is the kind of those that share work: a process has several things to
// say, and this one is said more often.
const kindCrew = "crew"

const (
	// crewSilent is how long one that said it is at work counts as such, by the
	// brokers' clock. It is several times what lies between two words, so
	// that a slow answer or two take nobody's work away.
	crewSilent = 4500 * time.Millisecond
	// crewWait bounds one round of it.
	crewWait = 2 * time.Second
)

// Crew says that this node is at work, and returns the names of the nodes that
// said so in the last four and a half seconds by the brokers' clock, this one among them,
// in order. It is to be called every second. core.ErrUnavailable when that
// cannot be told. It is a hint: nothing may depend on it but who does what could
// be done twice.
func (p *Presence) Members(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, crewWait)
	defer cancel()
	place, err := p.put(ctx, p.crewKey(), beat{Presence: p.me})
	if err != nil {
		return nil, err
	}
	p.said(place)
	list, err := p.readCrew(ctx)
	if err != nil {
		return nil, fmt.Errorf("presence of log %s: %w", p.log, err)
	}
	var now time.Time // our own word is the clock
	for i := range list {
		if list[i].Agent == p.me.Agent {
			now = list[i].Seen
		}
	}
	if now.IsZero() {
		return nil, fmt.Errorf("presence of log %s forgot what this node said: %w", p.log, core.ErrUnavailable)
	}
	var names []string
	for i := range list {
		if now.Sub(list[i].Seen) < crewSilent {
			names = append(names, list[i].Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// mostCrew bounds the nodes that are asked for.
const mostCrew = 1000

// readCrew reads what nodes said last, in one request: every node does so each
// second, and to watch the bucket would have the cluster agree on a consumer first.
func (p *Presence) readCrew(ctx context.Context) ([]Present, error) {
	ask, err := json.Marshal(map[string]any{"multi_last": []string{"$KV." + p.bucketName() + "." + kindCrew + ".*"}, "batch": mostCrew})
	if err != nil {
		return nil, err
	}
	msgs, _, err := directGet(ctx, p.js.Conn(), "KV_"+p.bucketName(), ask, crewWait)
	if err != nil {
		return nil, err
	}
	var list []Present
	for _, m := range msgs {
		seen, terr := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
		var b beat
		if terr == nil && m.Header.Get("KV-Operation") == "" && json.Unmarshal(m.Data, &b) == nil {
			list = append(list, Present{Presence: b.Presence, Kind: kindCrew, Seen: seen.UTC()})
		}
	}
	return list, nil
}

// LeaveMembers says that this node stops work, so that others take it over at once.
func (p *Presence) LeaveMembers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, crewWait)
	defer cancel()
	return p.delete(ctx, p.crewKey())
}

// crewKey is of the node's name and not of the process: one that comes back at
// once has never been away.
func (p *Presence) crewKey() string {
	sum := sha256.Sum256([]byte(p.me.Agent))
	return kindCrew + "." + hex.EncodeToString(sum[:8])
}
