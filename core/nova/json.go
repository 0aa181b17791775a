package nova

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// JSON is the state as Nova's to_dict has it, on one line: absent fields are
// left out, tags are a list. The caller owns the result.
func (s State) JSON() json.RawMessage { return s.json(true) }

// JSONWithoutTags is to_dict with include_tags=False.
func (s State) JSONWithoutTags() json.RawMessage { return s.json(false) }

func (s State) json(tags bool) []byte {
	var b builder
	b.text("session_id", s.SessionID)
	b.text("created_at", s.CreatedAt)
	b.text("last_updated", s.LastUpdated)
	b.text("model", s.Model)
	b.optional("agent_name", s.AgentName)
	b.optional("current_plan", s.CurrentPlan)
	b.member("key_decisions", list(s.Decisions, func(d Decision) []byte {
		var o builder
		o.text("decision", d.Decision)
		o.text("rationale", d.Rationale)
		o.text("timestamp", d.Timestamp)
		return o.object()
	}))
	var artifacts builder
	for _, a := range s.Artifacts {
		artifacts.text(a.Name, a.Path)
	}
	b.member("latest_artifacts", artifacts.object())
	b.number("tokens_used", s.TokensUsed)
	b.number("turn_count", s.TurnCount)
	if tags {
		b.member("tags", list(s.Tags, func(t string) []byte { return esjson.AppendString(nil, t) }))
	}
	var m builder
	m.number("task_count", s.Metrics.TaskCount)
	m.number("decision_count", s.Metrics.DecisionCount)
	m.number("total_tokens", s.Metrics.TotalTokens)
	m.members(s.Metrics.extra)
	b.member("metrics", m.object())
	b.optional("fork_parent_id", s.ForkParentID)
	b.number("fork_count", s.ForkCount)
	b.member("pruned", strconv.AppendBool(nil, s.Pruned))
	b.optional("last_pruned_at", s.LastPrunedAt)
	b.members(s.extra)
	return b.object()
}

// Parse reads a state as Nova's from_dict does. core.ErrInvalid, naming the
// field, where one is missing or is not what it should be.
func Parse(data []byte) (State, error) {
	if !utf8.Valid(data) {
		return State{}, fmt.Errorf("it is not UTF-8: %w", core.ErrInvalid)
	}
	var s State
	var bad error
	err := core.Members(data, func(name string, v jsontext.Value) {
		if err := s.set(name, v); err != nil && bad == nil {
			bad = err
		}
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return State{}, err
	}
	for _, f := range []text{{"session_id", s.SessionID}, {"created_at", s.CreatedAt}, {"last_updated", s.LastUpdated}, {"model", s.Model}} {
		if f.value == "" {
			return State{}, fmt.Errorf("%s is missing or empty: %w", f.name, core.ErrInvalid)
		}
	}
	return s, CheckID(s.SessionID)
}

// set takes in one member of a state.
func (s *State) set(name string, v jsontext.Value) error {
	r := field{name: name, value: v}
	switch name {
	case "session_id":
		s.SessionID = r.text()
	case "created_at":
		s.CreatedAt = r.text()
	case "last_updated":
		s.LastUpdated = r.text()
	case "model":
		s.Model = r.text()
	case "agent_name":
		s.AgentName = r.optional()
	case "current_plan":
		s.CurrentPlan = r.optional()
	case "key_decisions":
		s.Decisions = r.decisions()
	case "latest_artifacts":
		s.Artifacts = r.artifacts()
	case "tokens_used":
		s.TokensUsed = r.count()
	case "turn_count":
		s.TurnCount = r.count()
	case "tags":
		s.Tags = unique(r.texts())
	case "metrics":
		s.Metrics = r.metrics()
	case "fork_parent_id":
		s.ForkParentID = r.optional()
	case "fork_count":
		s.ForkCount = r.count()
	case "pruned":
		s.Pruned = r.bool()
	case "last_pruned_at":
		s.LastPrunedAt = r.optional()
	default:
		s.extra = with(s.extra, name, v)
	}
	return r.err
}

// A field reads the value of a member. The first mistake stays in err.
type field struct {
	name  string
	value jsontext.Value
	err   error
}

func (r *field) fail(want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is no %s: %w", jsonl.Clip(r.name, 64), want, core.ErrInvalid)
	}
}

func (r *field) text() string {
	s, ok := jsonl.Text(r.value)
	if !ok {
		r.fail("string")
	}
	return s
}

func (r *field) optional() string {
	if r.value.Kind() == 'n' {
		return ""
	}
	return r.text()
}

func (r *field) count() int64 {
	n, err := strconv.ParseInt(string(r.value), 10, 64)
	if err != nil || n < 0 {
		r.fail("whole number from 0 on")
	}
	return n
}

func (r *field) bool() bool {
	if k := r.value.Kind(); k != 't' && k != 'f' {
		r.fail("boolean")
	}
	return r.value.Kind() == 't'
}

// each calls f with the items of a list.
func (r *field) each(f func(item *field)) {
	if r.value.Kind() != '[' {
		r.fail("list")
		return
	}
	i := 0
	_ = esjson.Each(r.value, func(item esjson.Value) {
		one := field{name: fmt.Sprintf("%s[%d]", r.name, i), value: jsontext.Value(item)}
		f(&one)
		if r.err == nil {
			r.err = one.err
		}
		i++
	})
}

// members calls f with the members of an object.
func (r *field) members(f func(m *field, name string)) {
	if r.value.Kind() != '{' {
		r.fail("object")
		return
	}
	_ = core.Members(r.value, func(name string, v jsontext.Value) {
		one := field{name: r.name + "." + name, value: v}
		f(&one, name)
		if r.err == nil {
			r.err = one.err
		}
	})
}

func (r *field) texts() (ts []string) {
	r.each(func(item *field) { ts = append(ts, item.text()) })
	return ts
}

func (r *field) decisions() (ds []Decision) {
	r.each(func(item *field) {
		var d Decision
		item.members(func(m *field, name string) {
			switch name {
			case "decision":
				d.Decision = m.text()
			case "rationale":
				d.Rationale = m.text()
			case "timestamp":
				d.Timestamp = m.text()
			}
		})
		ds = append(ds, d)
	})
	return ds
}

func (r *field) artifacts() []Artifact {
	var s State
	r.members(func(m *field, name string) { s = s.addArtifactInPlace(Artifact{name, m.text()}) })
	return s.Artifacts
}

// addArtifactInPlace is addArtifact for a state that nobody else has seen.
func (s State) addArtifactInPlace(a Artifact) State {
	for i := range s.Artifacts {
		if s.Artifacts[i].Name == a.Name {
			return s.addArtifact(a)
		}
	}
	s.Artifacts = append(s.Artifacts, a)
	return s
}

func (r *field) metrics() (m Metrics) {
	r.members(func(f *field, name string) {
		switch name {
		case "task_count":
			m.TaskCount = f.count()
		case "decision_count":
			m.DecisionCount = f.count()
		case "total_tokens":
			m.TotalTokens = f.count()
		default:
			m.extra = with(m.extra, name, f.value)
		}
	})
	return m
}

// with appends a member, its value on one line and in memory of its own.
func with(ms []member, name string, v jsontext.Value) []member {
	v = bytes.Clone(v)
	if err := v.Compact(); err != nil {
		return ms
	}
	return append(ms, member{name, v})
}

// A builder makes an object, member by member.
type builder struct{ b []byte }

func (o *builder) member(name string, value []byte) {
	o.b = append(esjson.AppendString(append(o.b, ','), name), ':')
	o.b = append(o.b, value...)
}

func (o *builder) text(name, value string) { o.member(name, esjson.AppendString(nil, value)) }

func (o *builder) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *builder) number(name string, n int64) { o.member(name, strconv.AppendInt(nil, n, 10)) }

func (o *builder) members(ms []member) {
	for _, m := range ms {
		o.member(m.name, m.value)
	}
}

func (o *builder) object() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	o.b[0] = '{'
	return append(o.b, '}')
}

func list[T any](items []T, one func(T) []byte) []byte {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, one(item)...)
	}
	return append(b, ']')
}
