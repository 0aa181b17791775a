package nova

import (
	"encoding/json"
	"maps"
	"slices"
)

// A State is what Nova knows of a session. It is a value: Fold makes it, and
// nothing that is done with a copy changes the session. The slices and the map
// are the owner's of the State.
type State struct {
	SessionID   string
	CreatedAt   string // times are as Nova writes them, see Time
	LastUpdated string
	Model       string
	AgentName   string // empty for none
	CurrentPlan string // empty for none
	// Decisions are the newest, oldest first. No change of ours leaves more
	// than MaxDecisions.
	Decisions    []Decision
	Artifacts    map[string]string // the path of each, by its name
	TokensUsed   int64
	TurnCount    int64
	Tags         []string // each once, in the order they came
	Metrics      Metrics
	ForkParentID string // the session that this one was forked from; empty for none
	ForkCount    int64  // how many sessions were forked from this one
	Pruned       bool
	LastPrunedAt string // empty for never

	// Extra is one JSON object of the members that Nova's document does not
	// name, or nil.
	Extra json.RawMessage
}

// MaxDecisions is how many decisions a session keeps.
const MaxDecisions = 10

// A Decision is what was decided and why.
type Decision struct {
	Decision  string
	Rationale string
	Timestamp string // empty if the file has none
	Extra     json.RawMessage
}

// Metrics are the counters of a session. A fork starts with zero counters.
type Metrics struct {
	TaskCount     int64
	DecisionCount int64 // since the session was compressed
	TotalTokens   int64
	Extra         json.RawMessage
}

// Limits are beyond what a state is compressed.
type Limits struct {
	Decisions int
	Tokens    int64
}

// DefaultLimits are Nova's own.
var DefaultLimits = Limits{Decisions: MaxDecisions, Tokens: 150_000}

// ShouldPrune reports whether s is over a limit and was never compressed.
func (s State) ShouldPrune(l Limits) bool {
	return !s.Pruned && (len(s.Decisions) > l.Decisions || s.TokensUsed > l.Tokens)
}

// Fork returns the state of a new session that continues from s, with its plan,
// decisions, artifacts, tokens and tags, and with its own counters.
func (s State) Fork(id, now string) State {
	return State{
		SessionID: id, CreatedAt: now, LastUpdated: now, ForkParentID: s.SessionID,
		Model: s.Model, AgentName: s.AgentName, CurrentPlan: s.CurrentPlan,
		Decisions: slices.Clone(s.Decisions), Artifacts: maps.Clone(s.Artifacts),
		TokensUsed: s.TokensUsed, Tags: slices.Clone(s.Tags),
	}
}

// most is beyond what numbers in JSON are exact; counters stop there.
const most = 1 << 53

// plus adds more to n, unless it is negative.
func plus(n, more int64) int64 { return min(n+min(max(0, more), most), most) }

func (s *State) addDecision(d Decision) {
	s.Decisions = append(s.Decisions, d)
	s.Decisions = s.Decisions[max(0, len(s.Decisions)-MaxDecisions):]
	s.Metrics.DecisionCount = plus(s.Metrics.DecisionCount, 1)
}

func (s *State) addArtifact(name, path string) {
	if s.Artifacts == nil {
		s.Artifacts = map[string]string{}
	}
	s.Artifacts[name] = path
}

func (s *State) addTokens(n int64) {
	s.TokensUsed = plus(s.TokensUsed, n)
	s.Metrics.TotalTokens = plus(s.Metrics.TotalTokens, n)
}

func (s *State) addTurns(n int64) {
	s.TurnCount = plus(s.TurnCount, n)
	s.Metrics.TaskCount = plus(s.Metrics.TaskCount, 1)
}

func (s *State) compress(l Limits, now string) {
	keep := min(max(0, l.Decisions), len(s.Decisions))
	s.Decisions = s.Decisions[len(s.Decisions)-keep:]
	if s.TokensUsed > l.Tokens {
		s.Artifacts = nil
	}
	s.Metrics.DecisionCount = 0
	s.Pruned, s.LastPrunedAt = true, now
}
