package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session"
)

const (
	// presenceTTL is how long the last heartbeat of a process is kept.
	presenceTTL = time.Hour
	// presenceBytes bounds the bucket, and presenceValue one heartbeat. Ten thousand
	// processes use about 4 MiB, and every List reads all of it.
	presenceBytes = 8 << 20
	presenceValue = 32 << 10
	// maxPresent bounds a List.
	maxPresent = 10_000
	// presenceWait bounds one operation on the bucket.
	presenceWait = 3 * time.Second
)

// Kinds of processes.
const (
	KindNode   = "node"
	KindWriter = "writer"
)

// Presence lists the nodes and writers that use a log: one key per process in a
// bucket in the brokers' memory. It is a hint: its loss only changes status output.
// Its methods are safe for concurrent use.
type Presence struct {
	js       jetstream.JetStream
	log      string
	replicas int
	me       session.Presence // this node; without an ID, it is not listed
	inbox    inbox

	mu       sync.Mutex
	kv       jetstream.KeyValue // nil until it was opened
	since    time.Time          // see Since
	revision uint64             // of this node's last heartbeat as a member
	failed   error              // of the last call of Members
}

// NewPresence returns the presence of a log. replicas is that of the bucket. me is
// this node, which is not listed if it has no ID. NewPresence does not contact the
// brokers.
func NewPresence(js jetstream.JetStream, log string, replicas int, me session.Presence) *Presence {
	return &Presence{js: js, log: log, replicas: max(replicas, 1), me: me, inbox: inbox{nc: js.Conn()}, since: me.Since}
}

// Since returns when the list of processes began to fill: when this node started, or
// detected that the brokers had lost the bucket. The list is complete
// session.SilentAfter later.
func (p *Presence) Since() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since
}

// Err returns why the last call of Members failed, or nil. In a cluster, the bucket is
// in memory: after a restart of all members it needs each of them once.
func (p *Presence) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *Presence) setErr(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
}

// noteRevision records the revision of this node's last heartbeat as a member. If
// revisions do not increase, the bucket was created again.
func (p *Presence) noteRevision(revision uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if revision <= p.revision {
		p.since = time.Now()
	}
	p.revision = revision
}

// Run sends this node's heartbeats until ctx ends. The error is never nil.
func (p *Presence) Run(ctx context.Context) error {
	tick := time.NewTicker(session.HeartbeatEvery)
	defer tick.Stop()
	for {
		_ = p.beatNode(ctx) // the next one may succeed
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceWait)
			defer cancel()
			_ = p.delete(last, nodeKey(p.me.ID)) // otherwise it becomes silent soon
			return ctx.Err()
		}
	}
}

// heartbeatValue is the value of a key of the bucket.
type heartbeatValue struct {
	session.Presence
	Node string `json:"node,omitempty"`
}

// Beat stores the heartbeat of a writer. Returns core.ErrInvalid if it breaks a rule
// of session.Presence, and core.ErrUnavailable if it was not stored.
func (p *Presence) Beat(ctx context.Context, w session.Presence) error {
	if err := w.Check(); err != nil {
		return err
	}
	if now := time.Now().UTC(); w.Since.IsZero() || w.Since.After(now) {
		w.Since = now
	}
	_, err := p.put(ctx, writerKey(w.ID), heartbeatValue{w, p.me.Agent})
	return err
}

// Leave removes a writer. It is not an error if the writer is not present.
func (p *Presence) Leave(ctx context.Context, id string) error {
	if _, err := core.ParseSessionID(id); err != nil {
		return err
	}
	return p.delete(ctx, writerKey(id))
}

// Writer returns the last heartbeat of a writer. Returns core.ErrNotFound if it sent none
// within an hour or has left, and core.ErrUnavailable if the brokers do not answer.
func (p *Presence) Writer(ctx context.Context, id string) (session.Presence, error) {
	if _, err := core.ParseSessionID(id); err != nil {
		return session.Presence{}, err
	}
	var b heartbeatValue
	missing := false
	err := p.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, writerKey(id))
		if missing = errors.Is(err, jetstream.ErrKeyNotFound); missing {
			return nil
		}
		if err == nil {
			missing = json.Unmarshal(e.Value(), &b) != nil // List leaves it out, too
		}
		return err
	})
	if missing {
		err = fmt.Errorf("process %s: %w", id, core.ErrNotFound)
	}
	return b.Presence, err
}

func (p *Presence) beatNode(ctx context.Context) error {
	if p.me.ID == "" {
		return nil
	}
	_, err := p.put(ctx, nodeKey(p.me.ID), heartbeatValue{Presence: p.me})
	return err
}

func nodeKey(id string) string   { return KindNode + "." + id }
func writerKey(id string) string { return KindWriter + "." + id }

// put stores a heartbeat and returns its revision.
func (p *Presence) put(ctx context.Context, key string, b heartbeatValue) (revision uint64, err error) {
	value, err := json.Marshal(b)
	if err != nil {
		return 0, err
	}
	err = p.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		revision, err = kv.Put(ctx, key, value)
		if isFull(err) && !strings.HasPrefix(key, KindWriter) {
			if err = p.deleteWriters(ctx); err == nil {
				revision, err = kv.Put(ctx, key, value)
			}
		}
		return err
	})
	return revision, err
}

// deleteWriters removes the heartbeats of all writers, so that too many writers do not
// hide a node. Present writers send the next one within session.HeartbeatEvery.
func (p *Presence) deleteWriters(ctx context.Context) error {
	s, err := p.js.Stream(ctx, "KV_"+p.bucketName())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject("$KV."+p.bucketName()+"."+KindWriter+".*"))
}

func isFull(err error) bool { return err != nil && errors.Is(mapError(err), core.ErrFull) }

func (p *Presence) bucketName() string { return presenceBucket(p.log) }

func presenceBucket(log string) string { return "SESSHERE_" + log }

// PresenceStream returns the name of the stream that the presence of a log is kept in,
// in memory.
func PresenceStream(log string) string { return "KV_" + presenceBucket(log) }

func (p *Presence) delete(ctx context.Context, key string) error {
	return p.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error { return kv.Delete(ctx, key) })
}

// List returns the processes of the last hour: nodes first, then writers, the longest
// present first. Returns core.ErrUnavailable if the brokers do not answer.
func (p *Presence) List(ctx context.Context) ([]session.Present, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceWait)
	defer cancel()
	// The brokers' clock decides; this node's own heartbeat reads it.
	_ = p.beatNode(ctx)
	var list []session.Present
	err := p.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		list, err = readPresence(ctx, kv, KindNode, KindWriter)
		return err
	})
	if err != nil {
		return nil, err
	}
	var now time.Time
	for i := range list {
		if list[i].Seen.After(now) {
			now = list[i].Seen
		}
	}
	for i := range list {
		list[i].Alive = now.Sub(list[i].Seen) < session.SilentAfter
	}
	slices.SortStableFunc(list, func(a, b session.Present) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// Skew returns how far this host's clock is ahead of the brokers' clock, including the
// time of one round trip. Returns core.ErrUnavailable if the brokers do not answer.
func (p *Presence) Skew(ctx context.Context) (time.Duration, error) {
	key := "clock." + ulid.Make().String() // not the key of a process
	var stored time.Time
	err := p.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if _, err := kv.Put(ctx, key, []byte("{}")); err != nil {
			return err
		}
		defer func() { _ = kv.Delete(ctx, key) }() // otherwise it expires in an hour
		e, err := kv.Get(ctx, key)
		for errors.Is(err, jetstream.ErrKeyNotFound) && retry.Pause(ctx) == nil { // a lagging replica may have answered
			e, err = kv.Get(ctx, key)
		}
		if err == nil {
			stored = e.Created()
		}
		return err
	})
	return time.Since(stored), err
}

// readPresence returns the last heartbeats of the processes of some kinds.
func readPresence(ctx context.Context, kv jetstream.KeyValue, kinds ...string) ([]session.Present, error) {
	var keys []string
	for _, kind := range kinds {
		keys = append(keys, kind+".*")
	}
	w, err := kv.WatchFiltered(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }() // otherwise it ends with the connection
	var list []session.Present
	for {
		select {
		case e := <-w.Updates():
			if e == nil || len(list) == maxPresent {
				return list, nil
			}
			kind, _, _ := strings.Cut(e.Key(), ".")
			var b heartbeatValue
			if json.Unmarshal(e.Value(), &b) == nil {
				list = append(list, session.Present{Presence: b.Presence, Kind: kind, Node: b.Node, Seen: e.Created().UTC()})
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// withBucket calls f with the bucket. It creates the bucket if it does not exist,
// because the brokers lose it when all of them restart.
func (p *Presence) withBucket(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, presenceWait)
	defer cancel()
	kv, err := p.bucket(ctx)
	if err == nil {
		err = f(ctx, kv)
	}
	if err != nil && ctx.Err() == nil {
		p.closeBucket(kv)
		if kv, err = p.bucket(ctx); err == nil {
			err = f(ctx, kv)
		}
	}
	if err != nil {
		return fmt.Errorf("presence of log %s: %v: %w", p.log, err, core.ErrUnavailable)
	}
	return nil
}

func (p *Presence) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	p.mu.Lock()
	kv := p.kv
	p.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	cfg := jetstream.KeyValueConfig{
		Bucket:       p.bucketName(),
		Description:  "active nodes and writers of a sesslog log; can be deleted",
		Storage:      jetstream.MemoryStorage,
		TTL:          presenceTTL,
		MaxBytes:     presenceBytes,
		MaxValueSize: presenceValue,
		Replicas:     p.replicas,
	}
	kv, err := p.js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = p.js.CreateKeyValue(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another node created it first
		kv, err = p.js.KeyValue(ctx, cfg.Bucket)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kv = kv
	return kv, nil
}

// closeBucket makes the next call of bucket look it up again.
func (p *Presence) closeBucket(kv jetstream.KeyValue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kv == kv {
		p.kv = nil
	}
}
