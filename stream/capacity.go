package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// Limits of how full a shard may be, from 0 to 1. A log that is nearly full reserves
// the rest for records that release claims, move sessions or free space.
const (
	// WarnLevel is where status reports begin to warn.
	WarnLevel = 0.80
	// AppendLimit is where a shard rejects records that add or change entries.
	AppendLimit = 0.90
	// barrierLimit is where a shard rejects barriers.
	barrierLimit = 0.95
	// noLimit leaves it to the server to reject a record.
	noLimit = 10
)

const (
	// serverAge is the maximum age of the known usage of the server. Other programs
	// can fill the disk, and reading the usage costs no message.
	serverAge = 250 * time.Millisecond
	// shardAge is the maximum age of the known size of a shard, and shardAgeFull its
	// maximum age from WarnLevel on.
	shardAge     = 5 * time.Second
	shardAgeFull = time.Second
)

// capacity is the known usage of a shard: the last one that was read, plus what this
// process has stored since. An append does not wait for a newer one.
type capacity struct {
	mu          sync.Mutex
	refreshing  bool
	serverRead  time.Time
	shardRead   time.Time
	shardBytes  int64
	shardLimit  int64 // 0 if there is none
	serverBytes int64
	serverLimit int64 // 0 if it is unknown
	broken      error // why nothing can be stored
}

// fullness returns the used part of the capacity, from 0 to 1. The caller holds mu.
func (c *capacity) fullness() (full float64) {
	if c.shardLimit > 0 {
		full = float64(c.shardBytes) / float64(c.shardLimit)
	}
	if c.serverLimit > 0 {
		full = max(full, float64(c.serverBytes)/float64(c.serverLimit))
	}
	return full
}

// admit returns core.ErrFull if shard is too full for a record of this kind.
func (l *Log) admit(ctx context.Context, shard int, kind core.Kind) error {
	if !storage.UsesReserve(ctx) && (kind == core.KindOpen || kind == core.KindAppend || kind == core.KindAmend) {
		return l.below(shard, AppendLimit, "new entries")
	}
	return l.below(shard, noLimit, "records")
}

// AdmitBlobs returns core.ErrFull if the server is too full for new entries, because
// their blobs may be on the same disk.
func (l *Log) AdmitBlobs() error {
	const shard = 0 // all shards are on the same server
	if _, err := l.full(shard); err != nil {
		return nil // this stream cannot be written, but blobs can
	}
	c := &l.capacity[shard]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serverLimit == 0 || float64(c.serverBytes) < AppendLimit*float64(c.serverLimit) {
		return nil
	}
	return fmt.Errorf("the log's server has %d of %d bytes left and takes no new entries: %w", max(c.serverLimit-c.serverBytes, 0), c.serverLimit, core.ErrFull)
}

// below returns core.ErrFull unless the fullness of shard is below limit.
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

// full returns the known fullness of shard without waiting for the server. If it is
// too old, full starts a refresh: one goroutine per shard, which ends within AckWait.
func (l *Log) full(shard int) (float64, error) {
	c := &l.capacity[shard]
	c.mu.Lock()
	defer c.mu.Unlock()
	age := shardAge
	if c.fullness() >= WarnLevel {
		age = shardAgeFull
	}
	shardOld := time.Since(c.shardRead) >= age
	serverOld := l.cfg.Capacity != nil && time.Since(c.serverRead) >= serverAge
	if !c.refreshing && (shardOld || serverOld) {
		c.refreshing = true
		go l.refreshCapacity(shard, shardOld)
	}
	return c.fullness(), c.broken
}

// refreshCapacity reads the server's usage and, if readShard is set, the shard's size.
func (l *Log) refreshCapacity(shard int, readShard bool) {
	defer func() {
		c := &l.capacity[shard]
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refreshing = false
	}()
	l.readServerCapacity(shard)
	if !readShard {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.AckWait)
	defer cancel()
	info, err := l.shardInfo(ctx, shard)
	if err != nil {
		info = nil // keep the values of the last refresh
	}
	l.setShardCapacity(shard, info)
}

func (l *Log) readServerCapacity(shard int) {
	if l.cfg.Capacity == nil {
		return
	}
	used, limit, err := l.cfg.Capacity(streamName(l.cfg.Name, shard))
	c := &l.capacity[shard]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serverRead, c.serverBytes, c.serverLimit, c.broken = time.Now(), used, limit, err
}

// setShardCapacity takes the size of a shard from info, unless that is nil.
func (l *Log) setShardCapacity(shard int, info *jetstream.StreamInfo) {
	c := &l.capacity[shard]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shardRead = time.Now()
	if info != nil {
		c.shardBytes, c.shardLimit = int64(info.State.Bytes), info.Config.MaxBytes
	}
}

// countStored adds a stored message to the known usage.
func (l *Log) countStored(shard int, m *nats.Msg) {
	c := &l.capacity[shard]
	c.mu.Lock()
	defer c.mu.Unlock()
	n := sizeOf(m)
	c.shardBytes += n
	c.serverBytes += n
}

// sizeOf returns the approximate size of a message in a stream.
func sizeOf(m *nats.Msg) int64 {
	n := 48 + len(m.Subject) + len(m.Data)
	for k, vs := range m.Header {
		for _, v := range vs {
			n += len(k) + len(v) + len(": \r\n")
		}
	}
	return int64(n)
}
