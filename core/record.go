package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Version is the protocol version that records carry.
const Version = 1

// A Kind is what a record did. A record of an unknown kind is chained and
// otherwise ignored, and prevents this version from writing to that session.
type Kind string

// The kinds of version 1.
const (
	KindOpen       Kind = "open"
	KindAppend     Kind = "append"
	KindAmend      Kind = "amend"
	KindHead       Kind = "head"
	KindClaim      Kind = "claim"
	KindRelease    Kind = "release"
	KindCheckpoint Kind = "checkpoint"
	KindClose      Kind = "close"
	KindDelete     Kind = "delete"
	KindUndelete   Kind = "undelete"
	KindErase      Kind = "erase"
	KindHold       Kind = "hold"
	KindUnhold     Kind = "unhold"
	KindRedact     Kind = "redact"
)

// A Pos is a place in a log's storage (in JetStream: the stream sequence). It
// orders the records of a session and means nothing elsewhere. Pos 0 is before
// everything.
type Pos uint64

// A Record is one step in the life of a session, stored whole or not at all.
type Record struct {
	Kind   Kind
	Seq    uint64 // dense, from 1
	Chain  Chain
	Base   Pos    // where reading starts, see docs/FORMAT.md; 0 on open
	Head   string // the head it speaks of
	Writer string // a ULID, new for every opening
	Epoch  uint64 // claims the session has had, this record included
	Count  int    // entry lines in the body
	Body   []byte // plain: neither compressed nor spilled. Not to be changed

	// Redo says that the record existed before: in this log, until the log lost
	// it, or, with Restored, in the log from which a backup was made. Both are
	// stored with the record and are not part of the chain. Restored has no
	// meaning without Redo.
	Redo, Restored bool

	// Given by the log, not part of the chain.
	Pos        Pos
	After      Pos       // of the session's last record, as the writer named it
	Time       time.Time // when the log stored it, by the log's clock
	Backfilled bool      // the copy of the log that was read lacks it; another has it
}

// A Chain is the hash that a record and all records before it come to.
type Chain [sha256.Size]byte

// ChainStart is the chain before a session's first record.
func ChainStart(log string, id SessionID) Chain {
	h := sha256.New()
	for _, f := range []string{log, string(id)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write([]byte(f))
	}
	return Chain(h.Sum(nil))
}

// Next returns the chain of r if the previous record has chain c. It covers
// kind, seq, head, epoch, writer and body, each preceded by its length as eight
// bytes, big-endian; numbers in decimal, the body as its SHA-256. Base, Count,
// Pos and Time are not covered, because the log may store the same record again
// elsewhere.
func (c Chain) Next(r *Record) Chain { return c.NextOf(r, DigestOf(r.Body)) }

// NextOf is Next for a record whose body is not at hand: body is the digest of
// the plain body, whatever r has for one.
func (c Chain) NextOf(r *Record, body Digest) Chain {
	var buf [512]byte // most records need less, and no allocation
	var number [20]byte
	b := appendField(buf[:0], c[:])
	b = appendField(b, r.Kind)
	b = appendField(b, strconv.AppendUint(number[:0], r.Seq, 10))
	b = appendField(b, r.Head)
	b = appendField(b, strconv.AppendUint(number[:0], r.Epoch, 10))
	b = appendField(b, r.Writer)
	return sha256.Sum256(appendField(b, body[:]))
}

// appendField appends what a chain hashes of a field: its length and its bytes.
func appendField[T ~string | ~[]byte](b []byte, f T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
}

func (c Chain) String() string { return hex.EncodeToString(c[:]) }

// ParseChain reads 64 lowercase hex digits.
func ParseChain(s string) (Chain, error) {
	var c Chain
	if len(s) != 2*len(c) || strings.ToLower(s) != s {
		return c, fmt.Errorf("chain %q is not 64 lowercase hex digits: %w", clip(s, 70), ErrInvalid)
	}
	if _, err := hex.Decode(c[:], []byte(s)); err != nil {
		return Chain{}, fmt.Errorf("chain %q is not 64 lowercase hex digits: %w", clip(s, 70), ErrInvalid)
	}
	return c, nil
}

// MarshalText gives 64 hex digits.
func (c Chain) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (c *Chain) UnmarshalText(b []byte) error {
	p, err := ParseChain(string(b))
	if err == nil {
		*c = p
	}
	return err
}

// A Cursor names a place in a session's history on any node: the number of its
// last record and the first eight bytes of that record's chain. The zero Cursor
// is before the first record.
type Cursor struct {
	Seq   uint64
	Chain [8]byte
}

// CursorOf returns the cursor of a record with that seq and chain.
func CursorOf(seq uint64, c Chain) Cursor {
	cur := Cursor{Seq: seq}
	copy(cur.Chain[:], c[:])
	return cur
}

// String gives "<seq>-<16 hex>", or "0" for the zero Cursor.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return "0"
	}
	return fmt.Sprintf("%d-%x", c.Seq, c.Chain)
}

// ParseCursor reads what String gives, and the empty string as the zero Cursor.
func ParseCursor(s string) (Cursor, error) {
	if s == "0" || s == "" {
		return Cursor{}, nil
	}
	var c Cursor
	num, tail, _ := strings.Cut(s, "-")
	seq, err := strconv.ParseUint(num, 10, 64)
	if err == nil && len(tail) == 2*len(c.Chain) {
		_, err = hex.Decode(c.Chain[:], []byte(tail))
	}
	c.Seq = seq
	if err != nil || seq == 0 || c.String() != s {
		return Cursor{}, fmt.Errorf("cursor %q is not <number>-<16 hex digits>: %w", clip(s, 60), ErrInvalid)
	}
	return c, nil
}

// MarshalText gives String.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseCursor.
func (c *Cursor) UnmarshalText(b []byte) error {
	p, err := ParseCursor(string(b))
	if err == nil {
		*c = p
	}
	return err
}
