package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// packed is the body of a record as its message holds it.
type packed struct {
	log   *Log
	id    core.SessionID
	pos   core.Pos
	frame frame
}

// lazyOf returns the record of f, which was read from session id.
func (l *Log) lazyOf(id core.SessionID, f frame) *storage.Lazy {
	return &storage.Lazy{Record: f.rec, Packed: &packed{log: l, id: id, pos: f.rec.Pos, frame: f}}
}

// spillWeight is assumed as the size of a spilled body, which is unknown until it is
// fetched.
const spillWeight = 64 << 20

// Weight implements storage.Packed.
func (p *packed) Weight() int64 {
	switch {
	case !p.frame.spill.IsZero():
		return spillWeight
	case p.frame.zstd:
		return min(maxInflate, int64(len(p.frame.data))*32)
	}
	return 0
}

// Fetch implements storage.Packed.
func (p *packed) Fetch(ctx context.Context) (body []byte, err error) {
	if p.frame.spill.IsZero() {
		body, err = p.frame.plain()
	} else {
		body, err = p.log.fetchBlob(ctx, p.frame.spill)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s, message %d: %w", p.id, p.pos, err)
	}
	return body, nil
}

// Digest implements storage.Packed.
func (p *packed) Digest() (core.Digest, error) {
	if !p.frame.spill.IsZero() {
		return p.frame.spill, nil
	}
	body, err := p.frame.plain()
	if err != nil {
		return core.Digest{}, fmt.Errorf("session %s, message %d: %w", p.id, p.pos, err)
	}
	return core.DigestOf(body), nil
}

// Spill implements storage.Packed.
func (p *packed) Spill() core.Digest { return p.frame.spill }

// fetchBlob returns a spilled body. A missing blob is core.ErrCorrupt and not
// core.ErrNotFound, which would mean that the record does not exist.
func (l *Log) fetchBlob(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := l.cfg.Blobs.Get(ctx, d)
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("%w %s is missing: %v: %w", storage.ErrBody, d, err, core.ErrCorrupt)
	}
	if err == nil && core.DigestOf(b) != d {
		return nil, fmt.Errorf("%w %s has another digest: %w", storage.ErrBody, d, core.ErrCorrupt)
	}
	if errors.Is(err, core.ErrCorrupt) {
		err = fmt.Errorf("%w %s: %w", storage.ErrBody, d, err)
	}
	return b, err
}

// lazy parses a message from direct get or from the live subject.
func (l *Log) lazy(id core.SessionID, m *nats.Msg) (*storage.Lazy, error) {
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
	f.rec.Pos, f.rec.Time = core.Pos(pos), at
	return l.lazyOf(id, f), nil
}
