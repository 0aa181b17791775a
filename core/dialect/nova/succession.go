package nova

import (
	"maps"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// Succession compares the state of a file with that of a session. The file is
// earlier if the session had its state before. It is later if Nova's methods,
// and people who edit what they may set, could have made its state from the
// session's current one: no counter decreased, no decision or artifact is
// missing unless Nova drops it. last_updated tells a file that is based on an
// earlier state, because each change in the log sets it. fork_count is not
// compared: Nova does not count forks.
func (Dialect) Succession(h core.Header, es, file []core.Entry) optional.Succession {
	now := foldAll(h, es)
	next := now.State
	earlier := true
	for _, e := range file {
		if e.Type != typeState {
			continue
		}
		_, s, err := readState(e)
		if err != nil {
			return optional.Diverged
		}
		next, earlier = s, earlier && now.hadBefore(s)
	}
	switch {
	case earlier:
		return optional.Earlier
	case next.follows(now.State):
		return optional.Later
	}
	return optional.Diverged
}

// follows reports whether s could have been made from old.
func (s State) follows(old State) bool {
	pruned := s.Pruned && !old.Pruned
	return s.SessionID == old.SessionID && s.CreatedAt == old.CreatedAt && s.ForkParentID == old.ForkParentID &&
		!before(s.LastUpdated, old.LastUpdated) && (s.Pruned || !old.Pruned) &&
		s.TokensUsed >= old.TokensUsed && s.TurnCount >= old.TurnCount &&
		s.Metrics.TaskCount >= old.Metrics.TaskCount && s.Metrics.TotalTokens >= old.Metrics.TotalTokens &&
		(pruned || s.Metrics.DecisionCount >= old.Metrics.DecisionCount) &&
		(pruned || s.keepsArtifacts(old)) && s.keepsDecisions(old, pruned)
}

// before reports whether time a is before b. Times that cannot be read are not
// compared.
func before(a, b string) bool {
	ta, okA := ParseTime(a)
	tb, okB := ParseTime(b)
	return okA && okB && ta.Before(tb)
}

func (s State) keepsArtifacts(old State) bool {
	for name := range maps.Keys(old.Artifacts) {
		if _, ok := s.Artifacts[name]; !ok {
			return false
		}
	}
	return true
}

// keepsDecisions reports whether the decisions of s begin with those of old,
// except for the oldest ones if s is full or was pruned.
func (s State) keepsDecisions(old State, pruned bool) bool {
	full := len(s.Decisions) >= MaxDecisions
	for from := range len(old.Decisions) + 1 {
		kept := old.Decisions[from:]
		if from > 0 && !pruned && !full {
			return false
		}
		if len(kept) <= len(s.Decisions) && slices.EqualFunc(kept, s.Decisions[:len(kept)], sameDecision) {
			return true
		}
	}
	return false
}

func sameDecision(a, b Decision) bool {
	return a.Decision == b.Decision && a.Rationale == b.Rationale && a.Timestamp == b.Timestamp
}
