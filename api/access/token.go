package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// A Scope is a level of permission. Each includes the ones before it.
type Scope string

// The scopes, lowest first.
const (
	Share Scope = "share" // read one session, or a part of it, by its share link
	Read  Scope = "read"  // read sessions
	Write Scope = "write" // create, write and trash sessions
	Admin Scope = "admin" // everything else: erase, redact, hold, repair, restore, tokens
)

var ranks = map[Scope]int{Share: 1, Read: 2, Write: 3, Admin: 4}

// ParseScope returns core.ErrInvalid unless s names a scope that a token can be given.
// Scope Share is that of share links.
func ParseScope(s string) (Scope, error) {
	if !Scope(s).Includes(Read) {
		return "", fmt.Errorf("scope %.64q: use read, write or admin: %w", s, core.ErrInvalid)
	}
	return Scope(s), nil
}

// Includes reports whether s allows everything that other allows. An unknown scope
// includes nothing and is included in none.
func (s Scope) Includes(other Scope) bool {
	return ranks[other] > 0 && ranks[s] >= ranks[other]
}

// Limits bound the use of one node by the bearer of a token. Zero means that only
// the node's limit applies.
type Limits struct {
	Rate      int   `json:"rate,omitempty"`      // requests per second, and the burst
	Body      int64 `json:"body,omitempty"`      // bytes per request
	Followers int   `json:"followers,omitempty"` // concurrent event streams
}

// A Grant is what a caller may do.
type Grant struct {
	Scope Scope `json:"scope"`
	// Prefix limits the grant to sessions whose ids start with it; empty means
	// all sessions of the log. With scope Share it is the id of the session.
	Prefix string `json:"prefix,omitempty"`
	// Until is the last entry that is shared. Empty means the end of main, wherever
	// that moves. Only with scope Share.
	Until  string `json:"until,omitempty"`
	Limits Limits `json:"limits,omitzero"`
}

// Reaches reports whether the grant includes the session id.
func (g Grant) Reaches(id string) bool { return strings.HasPrefix(id, g.Prefix) }

// The limits of the fields of a grant and a token.
const (
	maxPrefix    = 128
	maxName      = 64
	maxBy        = 256
	maxRate      = 100_000
	maxFollowers = 100_000
)

// Check returns core.ErrInvalid with the first fault of g, or nil.
func (g Grant) Check() error {
	if g.Scope == Share {
		if _, err := core.ParseSessionID(g.Prefix); err != nil {
			return err
		}
		if len(g.Until) > core.MaxEntryID {
			return fmt.Errorf("until has %d bytes, %d are allowed: %w", len(g.Until), core.MaxEntryID, core.ErrInvalid)
		}
	} else if _, err := ParseScope(string(g.Scope)); err != nil {
		return err
	} else if g.Until != "" {
		return fmt.Errorf("until %.64q: only a share link has it: %w", g.Until, core.ErrInvalid)
	}
	if len(g.Prefix) > maxPrefix || strings.Trim(g.Prefix, idChars) != "" {
		return fmt.Errorf("prefix %.140q: must be the start of an id, up to %d of A-Z a-z 0-9 _ -: %w", g.Prefix, maxPrefix, core.ErrInvalid)
	}
	if g.Prefix != "" && g.Scope == Admin {
		return fmt.Errorf("prefix %s: scope admin applies to the whole log; use read or write with a prefix: %w", g.Prefix, core.ErrInvalid)
	}
	l := g.Limits
	if l.Rate < 0 || l.Rate > maxRate || l.Body < 0 || l.Followers < 0 || l.Followers > maxFollowers {
		return fmt.Errorf("limits %+v: rate and followers must be 0 to %d, body must not be negative; 0 means no limit: %w", l, maxRate, core.ErrInvalid)
	}
	return nil
}

const idChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// A Token describes a token, without its secret.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"` // for people
	Grant
	By      string    `json:"by,omitempty"` // the author
	Created time.Time `json:"created"`
	Rotated time.Time `json:"rotated,omitzero"` // when it got the current secret
	Expires time.Time `json:"expires,omitzero"` // zero means never
	Former  time.Time `json:"former,omitzero"`  // until when the previous secret is valid
	Used    time.Time `json:"used,omitzero"`    // the hour of the last use
}

// Check returns core.ErrInvalid with the first fault of a new token, or nil.
func (t Token) Check() error {
	if t.Name == "" || len(t.Name) > maxName || !utf8.ValidString(t.Name) || strings.ContainsFunc(t.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("name %.80q: must be 1 to %d bytes on one line; use the name of the bearer: %w", t.Name, maxName, core.ErrInvalid)
	}
	if len(t.By) > maxBy {
		return fmt.Errorf("by has %d bytes, %d are allowed: %w", len(t.By), maxBy, core.ErrInvalid)
	}
	return t.Grant.Check()
}

// Same reports whether two secrets are equal, in constant time.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// BearerOf returns the token in the value of an Authorization header. ok is false unless
// the scheme is Bearer, in upper or lower case.
func BearerOf(authorization string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(authorization, " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// An Issued is a token with a new secret.
type Issued struct {
	Token
	Bearer string `json:"token"` // for the Authorization header; not stored
}
