package stream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
)

// A Lazy is a record whose body may still be packed, or elsewhere: who reads for
// many others decides when to take the memory, and may share the bytes.
type Lazy struct {
	core.Record // without body

	id    core.SessionID
	log   *Log
	frame frame
}

// spillWeight stands for the size of a body that was spilled, which nobody knows
// before it is fetched.
const spillWeight = 64 << 20

// Weight is about how many bytes Body will take in memory at most, 0 where it
// takes none.
func (z *Lazy) Weight() int64 {
	switch {
	case !z.frame.spill.IsZero():
		return spillWeight
	case z.frame.zstd:
		return min(maxInflate, int64(len(z.frame.data))*32)
	}
	return 0
}

// Body fetches the record's body. The errors are those of Blobs.Get, and
// core.ErrCorrupt.
func (z *Lazy) Body(ctx context.Context) (body []byte, err error) {
	if z.frame.spill.IsZero() {
		body, err = z.frame.plain()
	} else {
		body, err = z.log.fetch(ctx, z.frame.spill)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s, message %d: %w", z.id, z.Pos, err)
	}
	return body, nil
}

// digest returns the digest of the body without keeping that.
func (z *Lazy) digest() (core.Digest, error) {
	if !z.frame.spill.IsZero() {
		return z.frame.spill, nil
	}
	body, err := z.frame.plain()
	if err != nil {
		return core.Digest{}, fmt.Errorf("session %s, message %d: %w", z.id, z.Pos, err)
	}
	return core.DigestOf(body), nil
}

// whole returns the record with its body.
func (z *Lazy) whole(ctx context.Context) (*core.Record, error) {
	body, err := z.Body(ctx)
	if err != nil {
		return nil, err
	}
	r := z.Record
	r.Body = body
	return &r, nil
}

// lazy reads a message of direct get or of the live subject.
func (l *Log) lazy(id core.SessionID, m *nats.Msg) (*Lazy, error) {
	if got := m.Header.Get("Nats-Subject"); got != l.subject(id) {
		return nil, fmt.Errorf("a message of %q among those of session %s: %w", got, id, core.ErrCorrupt)
	}
	pos, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a message of session %s without a sequence: %w", id, core.ErrCorrupt)
	}
	at, _ := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	f, err := readFrame(m.Header, m.Data)
	if err != nil {
		return nil, fmt.Errorf("session %s, message %d: %w", id, pos, err)
	}
	z := &Lazy{Record: f.rec, id: id, log: l, frame: f}
	z.Pos, z.Time = core.Pos(pos), at
	return z, nil
}
