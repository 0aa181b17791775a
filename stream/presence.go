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
	"github.com/sesslog/sesslog/session"
)

const (
	// presenceKept is how long it is remembered when a process was seen last.
	presenceKept = time.Hour
	// presenceBytes bounds what all processes say together, presenceValue what
	// one says. Ten thousand say some 4 MiB; every look reads it all.
	presenceBytes = 8 << 20
	presenceValue = 32 << 10
	// maxPresent bounds a listing.
	maxPresent = 10_000
	// presenceWait bounds how long one look at the bucket may take.
	presenceWait = 3 * time.Second
)

// Kinds of processes.
const (
	KindNode   = "node"
	KindWriter = "writer"
)

// A Present is a process as others see it.
type Present struct {
	session.Presence
	Kind  string    `json:"kind"`           // KindNode or KindWriter
	Node  string    `json:"node,omitempty"` // of a writer: through which node it was heard last
	Seen  time.Time `json:"seen"`           // when it was heard last, by the broker's clock
	Alive bool      `json:"alive"`          // it was heard within session.SilentAfter
}

// Presence is who is at work on a log: a key for each process in a bucket in
// the brokers' memory. It is a hint. When it is lost nothing changes but what
// people are told. Its methods may be called from several goroutines.
type Presence struct {
	js       jetstream.JetStream
	log      string
	replicas int
	me       session.Presence // of the node, with a zero ID where there is none

	mu    sync.Mutex
	kv    jetstream.KeyValue // nil until it was found
	since time.Time          // see Since
	place uint64             // of this node's last word in the bucket
}

// NewPresence returns the presence of a log, kept on as many replicas. me is
// this node; without an ID it is not present itself. Nothing is asked of the
// brokers yet.
func NewPresence(js jetstream.JetStream, log string, replicas int, me session.Presence) *Presence {
	return &Presence{js: js, log: log, replicas: max(replicas, 1), me: me, since: me.Since}
}

// Since is when this node began to hear who is there: when it started, or found
// that the brokers had forgotten. Of whom nothing is heard within
// session.SilentAfter of that, nothing is known.
func (p *Presence) Since() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since
}

// said notes where this node's word is in the bucket. Where it is not behind the
// one before, the bucket was made anew.
func (p *Presence) said(place uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place <= p.place {
		p.since = time.Now()
	}
	p.place = place
}

// Run keeps this node present until ctx ends. The error is never nil.
func (p *Presence) Run(ctx context.Context) error {
	tick := time.NewTicker(session.HeartbeatEvery)
	defer tick.Stop()
	for {
		_ = p.beatNode(ctx) // the next one may get through
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceWait)
			defer cancel()
			_ = p.delete(last, nodeKey(p.me.ID)) // it will be silent soon
			return ctx.Err()
		}
	}
}

// A beat is a Presence as the bucket keeps it.
type beat struct {
	session.Presence
	Node string `json:"node,omitempty"`
}

// Beat says that a writer is there. core.ErrInvalid when it breaks a rule of
// session.Presence, core.ErrUnavailable when it could not be kept.
func (p *Presence) Beat(ctx context.Context, who session.Presence) error {
	if err := who.Check(); err != nil {
		return err
	}
	if now := time.Now().UTC(); who.Since.IsZero() || who.Since.After(now) {
		who.Since = now
	}
	_, err := p.put(ctx, writerKey(who.ID), beat{who, p.me.Agent})
	return err
}

// Leave says that a writer has gone. To say so of one that is not there is no
// error.
func (p *Presence) Leave(ctx context.Context, id string) error {
	if _, err := core.ParseSessionID(id); err != nil {
		return err
	}
	return p.delete(ctx, writerKey(id))
}

func (p *Presence) beatNode(ctx context.Context) error {
	if p.me.ID == "" {
		return nil
	}
	_, err := p.put(ctx, nodeKey(p.me.ID), beat{Presence: p.me})
	return err
}

func nodeKey(id string) string   { return KindNode + "." + id }
func writerKey(id string) string { return KindWriter + "." + id }

// put keeps what a process says, and returns its place in the bucket.
func (p *Presence) put(ctx context.Context, key string, b beat) (place uint64, err error) {
	value, err := json.Marshal(b)
	if err != nil {
		return 0, err
	}
	err = p.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		place, err = kv.Put(ctx, key, value)
		if isFull(err) && !strings.HasPrefix(key, KindWriter) {
			if err = p.makeRoom(ctx); err == nil {
				place, err = kv.Put(ctx, key, value)
			}
		}
		return err
	})
	return place, err
}

// makeRoom forgets what writers said, so that too many of them keep no node from
// being seen. Those that are there say it again within session.HeartbeatEvery.
func (p *Presence) makeRoom(ctx context.Context) error {
	s, err := p.js.Stream(ctx, "KV_"+p.bucketName())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject("$KV."+p.bucketName()+"."+KindWriter+".*"))
}

func isFull(err error) bool { return err != nil && errors.Is(mapError(err), core.ErrFull) }

func (p *Presence) bucketName() string { return "SESSHERE_" + p.log }

func (p *Presence) delete(ctx context.Context, key string) error {
	return p.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) error { return kv.Delete(ctx, key) })
}

// List returns who is present or was until lately: nodes first, then writers,
// the longest present first. core.ErrUnavailable when it cannot be told.
func (p *Presence) List(ctx context.Context) ([]Present, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceWait)
	defer cancel()
	// The brokers' clock is the one that counts; this node's own beat reads it.
	_ = p.beatNode(ctx)
	var list []Present
	err := p.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
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
	slices.SortStableFunc(list, func(a, b Present) int {
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

// Skew is how far this host's clock is ahead of the brokers', as well as a beat
// can tell: the time that one takes is counted in. core.ErrUnavailable when it
// cannot be told.
func (p *Presence) Skew(ctx context.Context) (time.Duration, error) {
	key := "clock." + ulid.Make().String() // no process's
	var stored time.Time
	err := p.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if _, err := kv.Put(ctx, key, []byte("{}")); err != nil {
			return err
		}
		defer func() { _ = kv.Delete(ctx, key) }() // else it is forgotten in an hour
		e, err := kv.Get(ctx, key)
		if err == nil {
			stored = e.Created()
		}
		return err
	})
	return time.Since(stored), err
}

// readPresence reads what processes of some kinds said, once.
func readPresence(ctx context.Context, kv jetstream.KeyValue, kinds ...string) ([]Present, error) {
	var keys []string
	for _, kind := range kinds {
		keys = append(keys, kind+".*")
	}
	w, err := kv.WatchFiltered(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }() // it ends with the connection anyway
	var list []Present
	for {
		select {
		case e := <-w.Updates():
			if e == nil || len(list) == maxPresent {
				return list, nil
			}
			kind, _, _ := strings.Cut(e.Key(), ".")
			var b beat
			if json.Unmarshal(e.Value(), &b) == nil {
				list = append(list, Present{Presence: b.Presence, Kind: kind, Node: b.Node, Seen: e.Created().UTC()})
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask calls f with the bucket, made where it is not there: brokers forget it
// when they all start anew.
func (p *Presence) ask(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, presenceWait)
	defer cancel()
	kv, err := p.bucket(ctx)
	if err == nil {
		err = f(ctx, kv)
	}
	if err != nil && ctx.Err() == nil {
		p.forget(kv)
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
		Description:  "who is at work on sesslog sessions; can be deleted",
		Storage:      jetstream.MemoryStorage,
		TTL:          presenceKept,
		MaxBytes:     presenceBytes,
		MaxValueSize: presenceValue,
		Replicas:     p.replicas,
	}
	kv, err := p.js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = p.js.CreateKeyValue(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another node was first
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

// forget has the bucket looked up again.
func (p *Presence) forget(kv jetstream.KeyValue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kv == kv {
		p.kv = nil
	}
}
