package session

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/newid"
)

// An Access says how a session is opened.
type Access int

// How sessions are opened.
const (
	// Claimed claims the head: no other writer can write to it until one takes
	// it over. If another writer holds the head, opening fails with a
	// *core.FencedError.
	Claimed Access = iota
	// TakeOver is Claimed, but takes the head from another writer, which is
	// then fenced.
	TakeOver
	// Shared writes without a claim. A write fails with a *core.ConflictError if
	// the head has moved since the Session last saw it.
	Shared
	// ReadOnly refuses every write with core.ErrInvalid.
	ReadOnly
)

// Options configure how sessions are made and opened. The zero value is valid.
type Options struct {
	Dialect string // of new sessions, and of those that Continue finds; default "pi"
	Access  Access
	Head    string // default core.MainHead; a new head starts at main's leaf
	Lazy    bool   // store a new session only once its agent would keep it

	ID     string // of a new session; default a new UUID
	Parent string // the parent in a new session's header; default none, for a fork its source; kept if recording is off
	CWD    string // of an opened session: the agent's directory, if not the header's; forks get it

	Agent string // the writer, for people: a program, a host, a person
	Host  string
	By    string

	Steps Steps // what the program wants to see, and may stop

	Now func() time.Time // default time.Now
}

// filled returns o with its defaults, and the dialect. It returns core.ErrInvalid if
// there is no such dialect, or the head or id is not valid.
func (o Options) filled() (Options, core.Dialect, error) {
	if o.Dialect == "" {
		o.Dialect = "pi"
	}
	if o.Head == "" {
		o.Head = core.MainHead
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := core.CheckHead(o.Head); err != nil {
		return o, nil, err
	}
	if o.Access < Claimed || o.Access > ReadOnly {
		return o, nil, fmt.Errorf("access %d: %w", o.Access, core.ErrInvalid)
	}
	if o.ID != "" {
		if _, err := core.ParseSessionID(o.ID); err != nil {
			return o, nil, err
		}
	}
	d, err := dialect.Named(o.Dialect)
	return o, d, err
}

// stamp returns the current time as agents write it.
func (o Options) stamp() string { return o.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// newID returns o.ID, or a new UUID of version 7, as agents use.
func (o Options) newID() string {
	if o.ID != "" {
		return o.ID
	}
	b := random()
	binary.BigEndian.PutUint64(b[:8], uint64(o.Now().UnixMilli())<<16|uint64(b[6])<<8|uint64(b[7]))
	return string(newid.Session(b))
}

func random() (b [16]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

// newKey returns an idempotency key.
func newKey() string {
	b := random()
	return hex.EncodeToString(b[:])
}
