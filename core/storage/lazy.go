package storage

import (
	"context"

	"github.com/sesslog/sesslog/core"
)

// A Lazy is a record whose body may still be packed, or kept elsewhere. A reader
// that serves many followers decides when to spend the memory.
type Lazy struct {
	core.Record // without its body
	Packed      Packed
}

// Packed is the body of a Lazy.
type Packed interface {
	// Fetch returns the body. ErrNotFound and ErrCorrupt as a blob store has
	// them; ErrCorrupt if it cannot be unpacked.
	Fetch(ctx context.Context) ([]byte, error)
	// Digest returns the body's digest without keeping the body.
	Digest() (core.Digest, error)
	// Weight is the approximate maximum of bytes that Fetch allocates, or 0 if
	// it allocates none.
	Weight() int64
	// Spill returns the digest of the blob that the body is kept as, or zero if
	// the body is part of the record's message.
	Spill() core.Digest
}

// LazyOf returns r as a Lazy whose body is in memory already.
func LazyOf(r *core.Record) *Lazy {
	z := &Lazy{Record: *r, Packed: unpacked(r.Body)}
	z.Record.Body = nil
	return z
}

// Body fetches the record's body; see Packed.Fetch.
func (z *Lazy) Body(ctx context.Context) ([]byte, error) { return z.Packed.Fetch(ctx) }

// Whole returns the record with its body.
func (z *Lazy) Whole(ctx context.Context) (*core.Record, error) {
	body, err := z.Packed.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	r := z.Record
	r.Body = body
	return &r, nil
}

type unpacked []byte

func (b unpacked) Fetch(context.Context) ([]byte, error) { return b, nil }
func (b unpacked) Digest() (core.Digest, error)          { return core.DigestOf(b), nil }
func (b unpacked) Weight() int64                         { return 0 }
func (b unpacked) Spill() core.Digest                    { return core.Digest{} }
