package nova

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A State is what Nova knows of a session. It holds pointers and no content:
// paths of artifacts, but no message and no file. The zero value of an optional
// field means that it is absent. A State is a value: no method of it changes
// what an earlier copy holds.
type State struct {
	SessionID    string
	CreatedAt    string // as Nova writes times: UTC without a zone
	LastUpdated  string
	Model        string
	AgentName    string
	CurrentPlan  string
	Decisions    []Decision // oldest first
	Artifacts    []Artifact // in the order their names came
	TokensUsed   int64
	TurnCount    int64
	Tags         []string // no two the same
	Metrics      Metrics
	ForkParentID string
	ForkCount    int64
	Pruned       bool
	LastPrunedAt string

	extra []member // of the file, unknown to Nova's document
}

// A Decision is one of the last decisions.
type Decision struct {
	Decision  string
	Rationale string
	Timestamp string
}

// An Artifact is a name and where the artifact is: a path or a ref.
type Artifact struct {
	Name string
	Path string
}

// Metrics count what was done in a session itself, not what it inherited.
type Metrics struct {
	TaskCount     int64
	DecisionCount int64 // since the last compression
	TotalTokens   int64

	extra []member
}

// A member is one of an object, its value as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// Limits say when a state is due for compression, and to what. Zero keeps
// nothing; DefaultLimits are Nova's.
type Limits struct {
	Decisions int
	Tokens    int64
}

// DefaultLimits are 10 decisions and 150,000 tokens.
func DefaultLimits() Limits { return Limits{Decisions: MaxDecisions, Tokens: MaxTokens} }

// ShouldPrune reports whether s has more decisions or tokens than l. A state
// that was compressed once is never due again.
func (s State) ShouldPrune(l Limits) bool {
	return !s.Pruned && (len(s.Decisions) > l.Decisions || s.TokensUsed > l.Tokens)
}

// compress keeps the last decisions and, where there are too many tokens, no
// artifacts. The tokens stay counted.
func (s State) compress(l Limits, now string) State {
	if n := len(s.Decisions) - max(l.Decisions, 0); n > 0 {
		s.Decisions = slices.Clone(s.Decisions[n:])
	}
	if s.TokensUsed > l.Tokens {
		s.Artifacts = nil
	}
	s.Metrics.DecisionCount = 0
	s.Pruned, s.LastPrunedAt = true, now
	return s
}

func (s State) addDecision(d Decision) State {
	s.Decisions = append(slices.Clone(s.Decisions), d)
	if n := len(s.Decisions) - MaxDecisions; n > 0 {
		s.Decisions = s.Decisions[n:]
	}
	s.Metrics.DecisionCount = plus(s.Metrics.DecisionCount, 1)
	return s
}

func (s State) addArtifact(a Artifact) State {
	s.Artifacts = slices.Clone(s.Artifacts)
	if i := slices.IndexFunc(s.Artifacts, func(old Artifact) bool { return old.Name == a.Name }); i >= 0 {
		s.Artifacts[i] = a
		return s
	}
	s.Artifacts = append(s.Artifacts, a)
	return s
}

func (s State) addTokens(n int64) State {
	s.TokensUsed = plus(s.TokensUsed, n)
	s.Metrics.TotalTokens = plus(s.Metrics.TotalTokens, n)
	return s
}

// addTurns counts a task on every call, as Nova does.
func (s State) addTurns(n int64) State {
	s.TurnCount = plus(s.TurnCount, n)
	s.Metrics.TaskCount = plus(s.Metrics.TaskCount, 1)
	return s
}

// Child is the state of a new session forked from s: it inherits what s knows
// and begins with no turns and counters of its own. now is ISO 8601.
func (s State) Child(id, now string) State {
	now = novaTime(now)
	return State{
		SessionID: id, CreatedAt: now, LastUpdated: now,
		Model: s.Model, AgentName: s.AgentName, CurrentPlan: s.CurrentPlan,
		Decisions: slices.Clone(s.Decisions), Artifacts: slices.Clone(s.Artifacts),
		TokensUsed: s.TokensUsed, Tags: slices.Clone(s.Tags), ForkParentID: s.SessionID,
	}
}

// New is the state of a new session. now is ISO 8601; an empty model is
// DefaultModel. core.ErrInvalid when the id or a text breaks a rule.
func New(id, now, model, agent string, tags []string) (State, error) {
	if model == "" {
		model = DefaultModel
	}
	now = novaTime(now)
	s := State{SessionID: id, CreatedAt: now, LastUpdated: now, Model: model, AgentName: agent, Tags: unique(tags)}
	if err := CheckID(id); err != nil {
		return State{}, err
	}
	return s, checkTexts(text{"model", model}, text{"agent_name", agent}, text{"tags", longest(tags)})
}

// plus adds what is positive of n to m, up to the largest number there is.
func plus(m, n int64) int64 {
	n = max(n, 0)
	if m > math.MaxInt64-n {
		return math.MaxInt64
	}
	return m + n
}

// unique returns tags without those that came before, in a slice of its own.
func unique(tags []string) []string {
	var u []string
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if !seen[t] {
			u = append(u, t)
		}
		seen[t] = true
	}
	return u
}

func longest(ss []string) string {
	l := ""
	for _, s := range ss {
		if len(s) > len(l) {
			l = s
		}
	}
	return l
}
