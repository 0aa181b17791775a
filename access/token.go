package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// A Scope says what kind of acts are allowed. Each includes the ones before it.
type Scope string

// Scopes, the least first.
const (
	Read  Scope = "read"  // see sessions
	Write Scope = "write" // make sessions and write to them, trash included
	Admin Scope = "admin" // all else: erase, redact, hold, repair, restore, tokens
)

var ranks = map[Scope]int{Read: 1, Write: 2, Admin: 3}

// ParseScope returns core.ErrInvalid unless s names a scope.
func ParseScope(s string) (Scope, error) {
	if ranks[Scope(s)] == 0 {
		return "", fmt.Errorf("scope %.64q: use read, write or admin: %w", s, core.ErrInvalid)
	}
	return Scope(s), nil
}

// Includes reports whether s allows what other allows. No scope includes one
// that is unknown, and an unknown one includes nothing.
func (s Scope) Includes(other Scope) bool {
	return ranks[other] > 0 && ranks[s] >= ranks[other]
}

// Limits bound what the bearer of a token may have of one node. Zero is no bound
// of the token's own.
type Limits struct {
	Rate      int   `json:"rate,omitempty"`      // requests a second; as many may come at once
	Body      int64 `json:"body,omitempty"`      // bytes of one request
	Followers int   `json:"followers,omitempty"` // streams of events open at once
}

// A Grant is what somebody may do.
type Grant struct {
	Scope Scope `json:"scope"`
	// Prefix is what the ids of sessions must begin with; empty for all sessions
	// of the log.
	Prefix string `json:"prefix,omitempty"`
	Limits Limits `json:"limits,omitzero"`
}

// Reaches reports whether the grant is for the session called id.
func (g Grant) Reaches(id string) bool { return strings.HasPrefix(id, g.Prefix) }

// Bounds of what a grant and a token say.
const (
	maxPrefix    = 128
	maxName      = 64
	maxBy        = 256
	maxRate      = 100_000
	maxFollowers = 100_000
)

// Check returns core.ErrInvalid naming what is wrong with g.
func (g Grant) Check() error {
	if _, err := ParseScope(string(g.Scope)); err != nil {
		return err
	}
	if len(g.Prefix) > maxPrefix || strings.Trim(g.Prefix, idChars) != "" {
		return fmt.Errorf("prefix %.140q: it is what ids begin with, up to %d of A-Z a-z 0-9 _ -: %w", g.Prefix, maxPrefix, core.ErrInvalid)
	}
	if g.Prefix != "" && g.Scope == Admin {
		return fmt.Errorf("scope admin is for the whole log, prefix %s is not; use read or write with a prefix: %w", g.Prefix, core.ErrInvalid)
	}
	l := g.Limits
	if l.Rate < 0 || l.Rate > maxRate || l.Body < 0 || l.Followers < 0 || l.Followers > maxFollowers {
		return fmt.Errorf("limits %+v: rate and followers are from 0 to %d, body is not negative; 0 is no bound: %w", l, maxRate, core.ErrInvalid)
	}
	return nil
}

const idChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// A Token is what the log knows of one: never its secret.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"` // for people
	Grant
	By      string    `json:"by,omitempty"` // who made it
	Created time.Time `json:"created"`
	Rotated time.Time `json:"rotated,omitzero"` // when it got the secret that it has
	Expires time.Time `json:"expires,omitzero"` // zero for never
	Former  time.Time `json:"former,omitzero"`  // until when the secret before this one is good, too
	Used    time.Time `json:"used,omitzero"`    // about when it was used last: the hour
}

// check returns core.ErrInvalid naming what is wrong with a token to be made.
func (t Token) check() error {
	if t.Name == "" || len(t.Name) > maxName || !utf8.ValidString(t.Name) || strings.ContainsFunc(t.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("name %.80q: name the token, in 1 to %d bytes of one line, after who is to carry it: %w", t.Name, maxName, core.ErrInvalid)
	}
	if len(t.By) > maxBy {
		return fmt.Errorf("by has %d bytes, %d are allowed: %w", len(t.By), maxBy, core.ErrInvalid)
	}
	return t.Grant.Check()
}

// kept is a token as the bucket has it.
type kept struct {
	Token
	Hash       string `json:"hash"`
	FormerHash string `json:"formerHash,omitempty"`
}

// secretPrefix makes a token known as one, for people and for programs that look
// for secrets where none should be.
const secretPrefix = "sesslog_"

// made returns a new id and a new secret, which has some 130 bits that nobody
// can guess. That is why a plain digest of it is enough: there is no list of
// likely secrets to try.
func madeID() string     { return strings.ToLower(rand.Text()[:12]) }
func madeSecret() string { return rand.Text() }

// bearer is what is shown to whoever made a token, and what a request carries.
func bearer(id, secret string) string { return secretPrefix + id + "_" + secret }

// parse splits what a request carries. ok is false for what is no token of a
// book.
func parse(bearer string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(bearer, secretPrefix)
	if !ok || len(rest) > 256 {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	return id, secret, ok && isTokenID(id)
}

// isTokenID reports whether id can be a token's: it becomes part of a key.
func isTokenID(id string) bool {
	return len(id) == 12 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// digest is what is kept of a secret. The log's name and the token's id are in
// it: what is copied to another log or another token opens nothing there.
func digest(log, id, secret string) string {
	sum := sha256.Sum256([]byte("sesslog token\x00" + log + "\x00" + id + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

// Same reports whether two secrets are the same, in a time that says nothing
// about where they differ or how long they are.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
