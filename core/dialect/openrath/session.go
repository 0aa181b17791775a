package openrath

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// A Session is a session as a value. Sessions derived from each other share no
// mutable memory.
type Session struct {
	ID       string // a UUID
	Created  string // when it was made, as OpenRath writes times; empty if it is not stored yet
	Rows     Table
	Parents  []string // the sessions it came from, in order
	Operator string   // what made it
	Kind     LineageKind
	Extras   []Extra
	Usage    *Usage // nil if unknown
	Sandbox  Sandbox
}

// An Extra is a further note about where a session came from. A value that JSON
// cannot represent is written as its text in quotes.
type Extra struct {
	Key   string
	Value any
}

// A Sandbox is where a session's tools run. It is named here, never opened.
type Sandbox struct {
	Backend string          // empty for none
	Spec    json.RawMessage // what to open, one JSON object; nil for none
	Handle  string          // of the open sandbox; empty if none is bound
}

// The operators that sessions are made by.
const (
	operatorImplicit     = "implicit"
	operatorCreate       = "Session.create"
	operatorCreateUser   = "create_user_session"
	operatorCreateSystem = "create_system_session"
	operatorFork         = "Session.fork"
	operatorDetach       = "Session.detach"
	operatorMerge        = "Session.merge"
)

// FromUserMessage returns a session called id that begins with a message of a
// user. It does not say where it came from.
func FromUserMessage(id, content string) Session { return implicit(id, NewTable(UserText(content))) }

// FromAgentPrompt returns a session called id that begins with a system
// message. It does not say where it came from.
func FromAgentPrompt(id, content string) Session { return implicit(id, NewTable(SystemText(content))) }

func implicit(id string, rows Table) Session {
	return Session{ID: id, Rows: rows, Operator: operatorImplicit, Kind: LineageUnknown}
}

// Create returns a session called id of the kind "user" or "system", which
// names what made it, or "empty", which has no rows and names nothing. Returns
// ErrInvalid for any other kind.
func Create(id, kind, content string) (Session, error) {
	switch kind {
	case "user":
		return leaf(FromUserMessage(id, content), LineageUser, operatorCreate), nil
	case "system":
		return leaf(FromAgentPrompt(id, content), LineageSystem, operatorCreate), nil
	case "empty":
		return implicit(id, Table{}), nil
	}
	return Session{}, fmt.Errorf("a session of the kind %q: it is user, system or empty: %w", jsonl.Clip(kind, 40), core.ErrInvalid)
}

// CreateUserSession is FromUserMessage for a session that names what made it.
func CreateUserSession(id, content string) Session {
	return leaf(FromUserMessage(id, content), LineageUser, operatorCreateUser)
}

// CreateSystemSession is FromAgentPrompt for a session that names what made it.
func CreateSystemSession(id, content string) Session {
	return leaf(FromAgentPrompt(id, content), LineageSystem, operatorCreateSystem)
}

func leaf(s Session, kind LineageKind, operator string) Session {
	s.Kind, s.Operator, s.Extras = kind, operator, []Extra{{"source", operator}}
	return s
}

// Fork returns a session called id that continues s: with its rows and its
// sandbox, which both then hold, and without its usage and extras.
func (s Session) Fork(id string) Session {
	return s.derive(id, LineageFork, operatorFork, s.ID)
}

// Detach is Fork for a session that does not name its origin.
func (s Session) Detach(id string) Session {
	return s.derive(id, LineageDetach, operatorDetach)
}

func (s Session) derive(id string, kind LineageKind, operator string, parents ...string) Session {
	sandbox := s.Sandbox
	sandbox.Spec = slices.Clone(sandbox.Spec)
	return Session{ID: id, Rows: s.Rows, Parents: parents, Operator: operator, Kind: kind, Sandbox: sandbox}
}

// Merge returns a session called id with the rows of s followed by those of
// other, with the usage of both, in the sandbox of s. Returns ErrInvalid if
// neither has a sandbox bound and their backends differ.
func (s Session) Merge(id string, other Session) (Session, error) {
	a, b := s.Sandbox, other.Sandbox
	if a.Handle == "" && b.Handle == "" && a.Backend != b.Backend {
		return Session{}, fmt.Errorf("cannot merge unbound sessions targeting different backends, %s and %s: bind a sandbox or target one backend: %w",
			backend(a), backend(b), core.ErrInvalid)
	}
	m := s.derive(id, LineageMerge, operatorMerge, s.ID, other.ID)
	m.Rows = s.Rows.Extend(other.Rows.rows...)
	m.Usage = AddUsage(s.Usage, other.Usage)
	return m, nil
}

// Loop returns a session called id for a run of agent on s: with the rows and the
// sandbox of s, which the rows of the run follow.
func (s Session) Loop(id string, agent Session) Session {
	return s.derive(id, LineageLoop, operatorLoop, s.ID, agent.ID)
}

// Compress returns a session called id whose only row is summary, which replaces
// the rows of s as agent saw them.
func (s Session) Compress(id string, agent Session, summary string) Session {
	c := s.derive(id, LineageCompress, operatorCompress, s.ID, agent.ID)
	c.Rows = NewTable(UserText(summary))
	c.Extras = compressed()
	return c
}

// compressed are the extras of a compression.
func compressed() []Extra {
	return []Extra{{"compression.lossy", true}, {"compression.rows_out", 1}}
}

func backend(s Sandbox) string {
	if s.Backend == "" {
		return "none"
	}
	return fmt.Sprintf("%q", jsonl.Clip(s.Backend, 40))
}
