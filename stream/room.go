package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// A log that is nearly full keeps its last room for what ends work, moves it to
// another host, or makes room: a log that took appends to the last byte could
// not even be told that a writer is gone.
const (
	// WarnLevel is how full a shard is when people should hear of it.
	WarnLevel = 0.80
	// AppendLimit is how full a shard takes no new, longer or other entries.
	AppendLimit = 0.90
	// barrierLimit is how full a shard takes no barriers.
	barrierLimit = 0.95
)

const (
	// lookAge is how old what is known of the server's own room may get. A disk
	// can be filled by anybody, and to look costs no message.
	lookAge = 250 * time.Millisecond
	// askAge is how old what the stream's leader said may get, and askAgeFull the
	// same once it is a matter to warn of.
	askAge     = 5 * time.Second
	askAgeFull = time.Second
)

// A room is what is known of how full a shard is. What was known a moment ago
// and what was stored from here since is near enough, and costs an append
// nothing.
type room struct {
	mu     sync.Mutex
	renews bool      // somebody is about to renew it
	looked time.Time // at the server
	asked  time.Time // the stream's leader
	bytes  int64     // in the stream
	limit  int64     // 0 for none
	used   int64     // of the server's room
	end    int64     // of the server's room; 0 for not known
	broken error     // why nothing can be stored at all
}

// share is how full the room is, from 0 to 1.
func (r *room) share() (full float64) {
	if r.limit > 0 {
		full = float64(r.bytes) / float64(r.limit)
	}
	if r.end > 0 {
		full = max(full, float64(r.used)/float64(r.end))
	}
	return full
}

// admit returns core.ErrFull where shard is too full for a record of this kind.
func (l *Log) admit(ctx context.Context, shard int, kind core.Kind) error {
	if !core.UsesReserve(ctx) && (kind == core.KindOpen || kind == core.KindAppend || kind == core.KindAmend) {
		return l.below(shard, AppendLimit, "new entries")
	}
	return l.below(shard, noLimit, "records")
}

// AdmitBlobs returns core.ErrFull if the server is too full for new entries: their
// images may be on the same disk.
func (l *Log) AdmitBlobs() error {
	const any = 0 // the server is the same for all shards
	if _, err := l.full(any); err != nil {
		return nil // that is a stream's trouble
	}
	r := &l.rooms[any]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == 0 || float64(r.used) < AppendLimit*float64(r.end) {
		return nil
	}
	return fmt.Errorf("the log's server has %d of %d bytes left and takes no new entries: %w", max(r.end-r.used, 0), r.end, core.ErrFull)
}

// noLimit leaves it to the server to refuse.
const noLimit = 10

// below returns core.ErrFull unless shard is less full than limit.
func (l *Log) below(shard int, limit float64, what string) error {
	full, err := l.full(shard)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %v: %w", streamName(l.cfg.Name, shard), err, core.ErrFull)
	}
	if full < limit {
		return nil
	}
	return fmt.Errorf("%s is %.0f %% full and takes no %s from %.0f %% on: %w",
		streamName(l.cfg.Name, shard), 100*full, what, 100*limit, core.ErrFull)
}

// full is how full shard is, as far as is known here. It never waits for the
// server.
func (l *Log) full(shard int) (float64, error) {
	r := &l.rooms[shard]
	r.mu.Lock()
	defer r.mu.Unlock()
	age := askAge
	if r.share() >= WarnLevel {
		age = askAgeFull
	}
	ask := time.Since(r.asked) >= age
	look := l.cfg.Capacity != nil && time.Since(r.looked) >= lookAge
	if !r.renews && (ask || look) {
		r.renews = true
		go l.renew(shard, ask)
	}
	return r.share(), r.broken
}

// renew renews what is known of a shard's room.
func (l *Log) renew(shard int, ask bool) {
	defer func() {
		r := &l.rooms[shard]
		r.mu.Lock()
		defer r.mu.Unlock()
		r.renews = false
	}()
	l.look(shard)
	if !ask {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.AckWait)
	defer cancel()
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		info = nil // what was known before will do for now
	}
	l.learn(shard, info)
}

// look takes in how full the server is.
func (l *Log) look(shard int) {
	if l.cfg.Capacity == nil {
		return
	}
	used, end, err := l.cfg.Capacity(streamName(l.cfg.Name, shard))
	r := &l.rooms[shard]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked, r.used, r.end, r.broken = time.Now(), used, end, err
}

// learn takes in what a shard's leader says, nil for nothing.
func (l *Log) learn(shard int, info *jetstream.StreamInfo) {
	r := &l.rooms[shard]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = time.Now()
	if info != nil {
		r.bytes, r.limit = int64(info.State.Bytes), info.Config.MaxBytes
	}
}

// stored counts a message in.
func (l *Log) stored(shard int, m *nats.Msg) {
	r := &l.rooms[shard]
	r.mu.Lock()
	defer r.mu.Unlock()
	n := sizeOf(m)
	r.bytes += n
	r.used += n
}

// sizeOf is about what a message takes in a stream.
func sizeOf(m *nats.Msg) int64 {
	n := 48 + len(m.Subject) + len(m.Data)
	for k, vs := range m.Header {
		for _, v := range vs {
			n += len(k) + len(v) + len(": \r\n")
		}
	}
	return int64(n)
}
