package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Prunable is a session as the question of which ones go sees it. A time that
// is not known is zero.
type Prunable struct {
	ID       SessionID
	Created  time.Time
	Modified time.Time // the last change
}

// last is the session's last change, as far as it is known.
func (p Prunable) last() time.Time {
	if p.Modified.IsZero() {
		return p.Created
	}
	return p.Modified
}

// PruneLimits say how many sessions stay.
type PruneLimits struct {
	MaxAge time.Duration // since the last change; 0 for any
	Keep   int           // at most so many stay; 0 for any number
}

// A Pruned is a session that has to go.
type Pruned struct {
	ID   SessionID `json:"id"`
	Last time.Time `json:"last"` // its last change
	Why  string    `json:"why"`
}

// Prune returns which of all have to go, the one first whose last change is the
// oldest, and of several of one time by their ids: those older than l.MaxAge,
// and of the others as many as are too many. One without any time is never too
// old, and the last to be too many. all stays as it is.
func Prune(now time.Time, all []Prunable, l PruneLimits) []Pruned {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Prunable) int {
		if a.last().IsZero() != b.last().IsZero() {
			return cmp.Compare(b.last().Unix(), a.last().Unix()) // the zero time is long ago
		}
		return cmp.Or(a.last().Compare(b.last()), cmp.Compare(a.ID, b.ID))
	})
	var out []Pruned
	for i, p := range all {
		left := len(all) - i
		switch age := now.Sub(p.last()); {
		case l.MaxAge > 0 && !p.last().IsZero() && age > l.MaxAge:
			out = append(out, Pruned{p.ID, p.last(), fmt.Sprintf("not changed for %s, longer than %s", age.Truncate(time.Second), l.MaxAge)})
		case l.Keep > 0 && left > l.Keep:
			out = append(out, Pruned{p.ID, p.last(), fmt.Sprintf("one of %d more than the %d that are kept", left-l.Keep, l.Keep)})
		default:
			return out
		}
	}
	return out
}
