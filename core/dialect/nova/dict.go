package nova

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Dict returns s as Nova writes it, one line of JSON: members without a value
// are left out, tags are a list.
func (s State) Dict() []byte { return s.dict(true) }

// DictWithoutTags is Dict without the tags.
func (s State) DictWithoutTags() []byte { return s.dict(false) }

func (s State) dict(tags bool) []byte {
	w := writer{b: []byte{'{'}}
	w.text("session_id", s.SessionID)
	w.text("created_at", s.CreatedAt)
	w.text("last_updated", s.LastUpdated)
	w.text("model", s.Model)
	w.optional("agent_name", s.AgentName)
	w.optional("current_plan", s.CurrentPlan)
	w.key("key_decisions")
	w.decisions(s.Decisions)
	w.key("latest_artifacts")
	w.artifacts(s.Artifacts)
	w.number("tokens_used", s.TokensUsed)
	w.number("turn_count", s.TurnCount)
	if tags {
		w.key("tags")
		w.texts(s.Tags)
	}
	w.key("metrics")
	w.metrics(s.Metrics)
	w.optional("fork_parent_id", s.ForkParentID)
	w.number("fork_count", s.ForkCount)
	w.key("pruned")
	w.b = strconv.AppendBool(w.b, s.Pruned)
	w.optional("last_pruned_at", s.LastPrunedAt)
	w.extra(s.Extra)
	return append(w.b, '}')
}

// A writer appends members of objects to b.
type writer struct{ b []byte }

func (w *writer) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(jsjson.AppendString(w.b, name), ':')
}

func (w *writer) text(name, s string) {
	w.key(name)
	w.b = jsjson.AppendString(w.b, s)
}

func (w *writer) optional(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *writer) number(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) texts(list []string) {
	w.b = append(w.b, '[')
	for i, s := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = jsjson.AppendString(w.b, s)
	}
	w.b = append(w.b, ']')
}

func (w *writer) artifacts(paths map[string]string) {
	w.b = append(w.b, '{')
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		w.text(name, paths[name])
	}
	w.b = append(w.b, '}')
}

func (w *writer) decisions(ds []Decision) {
	w.b = append(w.b, '[')
	for i, d := range ds {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.decision(d)
	}
	w.b = append(w.b, ']')
}

func (w *writer) decision(d Decision) {
	w.b = append(w.b, '{')
	w.text("decision", d.Decision)
	w.text("rationale", d.Rationale)
	w.optional("timestamp", d.Timestamp)
	w.extra(d.Extra)
	w.b = append(w.b, '}')
}

func (w *writer) metrics(m Metrics) {
	w.b = append(w.b, '{')
	w.number("task_count", m.TaskCount)
	w.number("decision_count", m.DecisionCount)
	w.number("total_tokens", m.TotalTokens)
	w.extra(m.Extra)
	w.b = append(w.b, '}')
}

// extra appends the members of an object.
func (w *writer) extra(object json.RawMessage) {
	if len(object) > 2 {
		w.b = append(append(w.b, ','), object[1:len(object)-1]...)
	}
}

// ReadDict reads a state as Nova writes it. session_id, created_at and
// last_updated are required; any other member that is absent or null has Nova's
// default. Returns a core.ErrInvalid that names the first member that is
// missing or invalid.
func ReadDict(data []byte) (State, error) {
	data = bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	o, err := jsjson.ParseObject(data)
	if err != nil {
		return State{}, fmt.Errorf("not a Nova state: %v: %w", err, core.ErrInvalid)
	}
	r := reader{o: &o}
	s := State{
		SessionID:    r.required("session_id"),
		CreatedAt:    r.required("created_at"),
		LastUpdated:  r.required("last_updated"),
		Model:        r.text("model", DefaultModel),
		AgentName:    r.text("agent_name", ""),
		CurrentPlan:  r.text("current_plan", ""),
		Decisions:    r.decisions("key_decisions"),
		Artifacts:    r.artifacts("latest_artifacts"),
		TokensUsed:   r.number("tokens_used"),
		TurnCount:    r.number("turn_count"),
		Tags:         r.texts("tags"),
		Metrics:      r.metrics("metrics"),
		ForkParentID: r.text("fork_parent_id", ""),
		ForkCount:    r.number("fork_count"),
		Pruned:       r.boolean("pruned"),
		LastPrunedAt: r.text("last_pruned_at", ""),
	}
	s.Extra = r.rest(data)
	if r.err == nil {
		r.err = CheckID(s.SessionID)
	}
	if r.err != nil {
		return State{}, r.err
	}
	return s, nil
}

// A reader reads the members of an object. err is what was first wrong.
type reader struct {
	o     *jsjson.Object
	path  string // in front of names in errors
	known []string
	err   error
}

// get returns a member, undefined if it is null or missing.
func (r *reader) get(name string) jsjson.Value {
	r.known = append(r.known, name)
	if v := r.o.Get(name); !v.IsNullish() {
		return v
	}
	return nil
}

func (r *reader) fail(name, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("not a Nova state: %s%s %s: %w", r.path, name, what, core.ErrInvalid)
	}
}

func (r *reader) required(name string) string {
	v := r.get(name)
	if v == nil {
		r.fail(name, "is missing")
	}
	return r.asText(name, v)
}

func (r *reader) text(name, absent string) string {
	v := r.get(name)
	if v == nil {
		return absent
	}
	return r.asText(name, v)
}

func (r *reader) asText(name string, v jsjson.Value) string {
	s, ok := v.Text()
	if !ok {
		r.fail(name, "is not a string")
	}
	return s
}

func (r *reader) number(name string) int64 {
	v := r.get(name)
	if v == nil {
		return 0
	}
	f, ok := v.Number()
	if !ok || f != math.Trunc(f) || math.Abs(f) > most {
		r.fail(name, "is not a whole number")
		return 0
	}
	return int64(f)
}

func (r *reader) boolean(name string) bool {
	v := r.get(name)
	if v != nil && v.Kind() != 't' && v.Kind() != 'f' {
		r.fail(name, "is neither true nor false")
	}
	return v.Kind() == 't'
}

func (r *reader) each(name string, f func(item jsjson.Value)) {
	v := r.get(name)
	if v == nil {
		return
	}
	if v.Kind() != '[' || jsjson.Each(v, f) != nil {
		r.fail(name, "is not a list")
	}
}

// texts returns each string of a list once.
func (r *reader) texts(name string) []string {
	var list []string
	seen := map[string]bool{}
	r.each(name, func(item jsjson.Value) {
		s, ok := item.Text()
		if !ok {
			r.fail(name, "has an item that is not a string")
		}
		if !seen[s] {
			list = append(list, s)
		}
		seen[s] = true
	})
	return list
}

// object calls f with a reader of the object v.
func (r *reader) object(name string, v jsjson.Value, f func(in *reader)) {
	if v == nil || r.err != nil {
		return
	}
	if v.Kind() != '{' {
		r.fail(name, "is not an object")
		return
	}
	o, err := jsjson.ParseObject(v)
	if err != nil {
		r.fail(name, "is not an object")
		return
	}
	in := reader{o: &o, path: r.path + name + "."}
	f(&in)
	r.err = in.err
}

func (r *reader) decisions(name string) []Decision {
	var ds []Decision
	r.each(name, func(item jsjson.Value) {
		r.object(name, item, func(in *reader) { ds = append(ds, in.decision(item)) })
	})
	return ds
}

func (r *reader) decision(v jsjson.Value) Decision {
	d := Decision{Decision: r.text("decision", ""), Rationale: r.text("rationale", ""), Timestamp: r.text("timestamp", "")}
	d.Extra = r.rest(v)
	return d
}

func (r *reader) artifacts(name string) map[string]string {
	paths := map[string]string{}
	v := r.get(name)
	r.object(name, v, func(in *reader) {
		_ = jsonline.Members(v, func(key string, path jsontext.Value) {
			paths[key] = in.asText(strconv.Quote(jsonl.Clip(key, 40)), jsjson.Value(path))
		})
	})
	if len(paths) == 0 {
		return nil
	}
	return paths
}

func (r *reader) metrics(name string) Metrics {
	var m Metrics
	v := r.get(name)
	r.object(name, v, func(in *reader) {
		m = Metrics{TaskCount: in.number("task_count"), DecisionCount: in.number("decision_count"), TotalTokens: in.number("total_tokens")}
		m.Extra = in.rest(v)
	})
	return m
}

// rest returns the members of the object src that were not read, on one line,
// or nil if there are none.
func (r *reader) rest(src []byte) json.RawMessage {
	o, err := jsjson.ParseObject(src)
	if err != nil {
		return nil
	}
	for _, name := range r.known {
		o.Delete(name)
	}
	b, err := o.Append(nil)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}
