package lineage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// A Journal remembers which sessions were made, in order. It outlives the scope
// that fills it. The zero Journal is empty and ready; its methods may be called
// from several goroutines.
type Journal struct {
	mu     sync.Mutex
	visits []core.SessionID
}

// Visits returns the sessions in the order in which they were made.
func (j *Journal) Visits() []core.SessionID {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.visits)
}

// Export returns the rows of the sessions in j, one line each. find looks up a
// session. A session that it does not find is left out or, if strict is set,
// makes Export return core.ErrNotFound.
func (j *Journal) Export(find func(core.SessionID) (Node, bool), strict bool) ([]byte, error) {
	var nodes []Node
	for _, id := range j.Visits() {
		n, ok := find(id)
		if !ok && strict {
			return nil, fmt.Errorf("session %s of the journal: %w", id, core.ErrNotFound)
		}
		if ok {
			nodes = append(nodes, n)
		}
	}
	return ExportJSONL(nodes), nil
}

// A scope is what a context says about recording.
type scope struct {
	journal *Journal
	off     bool
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

// Track returns a context in which sessions that are made are noted in j, and
// in no journal of a context around it.
func Track(ctx context.Context, j *Journal) context.Context {
	s := scopeOf(ctx)
	s.journal = j
	return context.WithValue(ctx, scopeKey{}, s)
}

// Recording returns a context that controls whether new sessions state their
// origin. If on is false, they do not, and no journal notes them. The default
// is true.
func Recording(ctx context.Context, on bool) context.Context {
	s := scopeOf(ctx)
	s.off = !on
	return context.WithValue(ctx, scopeKey{}, s)
}

// IsRecording reports whether new sessions state their origin.
func IsRecording(ctx context.Context) bool { return !scopeOf(ctx).off }

// Note notes in the journal of ctx, if it has one, that a session was made.
func Note(ctx context.Context, id core.SessionID) {
	s := scopeOf(ctx)
	if s.journal == nil || s.off {
		return
	}
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.journal.visits = append(s.journal.visits, id)
}
