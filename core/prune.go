package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Prunable is a session as Prune sees it. A zero time is not known.
type Prunable struct {
	ID       SessionID
	Created  time.Time
	Modified time.Time // when it last changed; where it is zero, Created counts
}

// PruneLimits say which sessions are to stay. A zero limit is none.
type PruneLimits struct {
	MaxAge time.Duration // a session goes when its last change is longer ago
	Keep   int           // how many sessions stay at most, after those too old are gone
}

// A Pruned is a session that is to go, and why, in words.
type Pruned struct {
	ID  SessionID `json:"id"`
	Why string    `json:"why"`
}

// Prune returns the sessions that go at now, the one that changed longest ago
// first, those of the same time by id: first all that are too old, then as many
// as there are too many. A session of which no time is known never goes and
// does not count: nobody can say that it is old. It changes nothing.
func Prune(sessions []Prunable, l PruneLimits, now time.Time) []Pruned {
	var known []Prunable
	for _, s := range sessions {
		if s.Modified.IsZero() {
			s.Modified = s.Created
		}
		if !s.Modified.IsZero() {
			known = append(known, s)
		}
	}
	slices.SortFunc(known, func(a, b Prunable) int {
		return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.ID, b.ID))
	})
	var gone []Pruned
	for i, s := range known {
		left := len(known) - i
		switch {
		case l.MaxAge > 0 && now.Sub(s.Modified) > l.MaxAge:
			gone = append(gone, Pruned{s.ID, fmt.Sprintf("unchanged since %s, longer than %s",
				s.Modified.UTC().Format(time.RFC3339), l.MaxAge)})
		case l.Keep > 0 && left > l.Keep:
			gone = append(gone, Pruned{s.ID, fmt.Sprintf("there are more than %d sessions, and it changed longest ago (%s)",
				l.Keep, s.Modified.UTC().Format(time.RFC3339))})
		default:
			return gone
		}
	}
	return gone
}
