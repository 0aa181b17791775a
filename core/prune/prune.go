package prune

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Session is what Choose needs to know of a session. An unknown time is zero.
type Session struct {
	ID       core.SessionID
	Created  time.Time
	Modified time.Time
}

// last is when the session was modified last, as far as known.
func (p Session) last() time.Time {
	if p.Modified.IsZero() {
		return p.Created
	}
	return p.Modified
}

// Limits are the limits on which sessions stay.
type Limits struct {
	MaxAge time.Duration // since it was modified; 0 for any
	Keep   int           // the maximum number that stays; 0 for no limit
}

// A Pruned is a session to remove.
type Pruned struct {
	ID   core.SessionID `json:"id"`
	Last time.Time      `json:"last"` // when it was modified
	Why  string         `json:"why"`
}

// Choose returns the sessions to remove, those that were modified first come first,
// then by id: sessions older than l.MaxAge, and as many of the others as exceed
// l.Keep. A session without any time is never too old, and is the last to
// exceed l.Keep. Choose does not modify all.
func Choose(now time.Time, all []Session, l Limits) []Pruned {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Session) int {
		if a.last().IsZero() != b.last().IsZero() {
			return cmp.Compare(b.last().Unix(), a.last().Unix()) // the zero time is long ago
		}
		return cmp.Or(a.last().Compare(b.last()), cmp.Compare(a.ID, b.ID))
	})
	var out []Pruned
	for i, p := range all {
		left := len(all) - i
		switch {
		case l.MaxAge > 0 && !p.last().IsZero() && now.Sub(p.last()) > l.MaxAge:
			out = append(out, Pruned{p.ID, p.last(), "not modified since " + p.last().UTC().Format("2006-01-02 15:04")})
		case l.Keep > 0 && left > l.Keep:
			out = append(out, Pruned{p.ID, p.last(), fmt.Sprintf("one of %d more than the %d that are kept", left-l.Keep, l.Keep)})
		default:
			return out
		}
	}
	return out
}
