package session

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// An Access says how a session is opened.
type Access int

// How sessions are opened.
const (
	// Claimed holds the head: nobody else writes to it until it is taken over.
	// A head that is held by another is a *core.FencedError.
	Claimed Access = iota
	// TakeOver is Claimed, also where another holds the head; that one is
	// fenced.
	TakeOver
	// Shared writes without a claim: a write is a *core.ConflictError when the
	// head has moved since the Session last saw it.
	Shared
	// ReadOnly refuses every write with core.ErrInvalid.
	ReadOnly
)

// Options say how to make and open sessions. The zero value is good.
type Options struct {
	Dialect string // of new sessions; default "pi". Continue looks for it alone
	Access  Access
	Head    string // default core.MainHead; one that is not there stands where main does
	Lazy    bool   // a new session is not in the log until its agent would keep it

	ID     string // of a new session; default a new UUID
	Parent string // what a new session's header names as its parent; default none, of a fork its source

	Agent string // who writes, for people: a program, a host, a person
	Host  string
	By    string

	Now func() time.Time // default time.Now
}

// filled returns o with its defaults, and the dialect. core.ErrInvalid when
// there is no such dialect, head or id.
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

// stamp is the time as agents write it.
func (o Options) stamp() string { return o.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// newID returns o.ID or a new UUID of version 7, as the agents call their
// sessions.
func (o Options) newID() string {
	if o.ID != "" {
		return o.ID
	}
	b := random()
	binary.BigEndian.PutUint64(b[:8], uint64(o.Now().UnixMilli())<<16|uint64(b[6])<<8|uint64(b[7]))
	return string(core.NewSessionID(b))
}

func random() (b [16]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}

// newKey is what a request is known by when it is sent again.
func newKey() string {
	b := random()
	return hex.EncodeToString(b[:])
}
