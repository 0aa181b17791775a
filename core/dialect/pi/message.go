package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// messagesOf returns the messages that e adds to the context: one for most
// types, none for settings, labels and the like, one or two for a compaction.
func messagesOf(e core.Entry) ([]jsjson.Value, error) {
	switch e.Type {
	case "message":
		m, err := messageOf(e)
		if err != nil {
			return nil, err
		}
		return one(m.stored())
	case "custom_message", "branch_summary", "compaction":
	default:
		return nil, nil
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case "custom_message":
		content := o.Get("content")
		if content.IsNullish() {
			content = jsjson.Value("[]")
		}
		return one(customMessage(&o, content))
	case "branch_summary":
		if !o.Get("summary").Truthy() {
			return nil, nil
		}
		return one(branchSummary(&o))
	}
	summary, err := compactionSummary(&o)
	if system := o.Get("systemMessage"); system.Truthy() {
		return []jsjson.Value{system, summary}, err
	}
	return one(summary, err)
}

func one(v jsjson.Value, err error) ([]jsjson.Value, error) {
	if v == nil || err != nil {
		return nil, err
	}
	return []jsjson.Value{v}, nil
}

// A message is the message of a message entry. Missing members are nil.
type message struct {
	whole, role, content jsjson.Value
	same                 bool // whole is as JSON.stringify writes it
}

// messageOf reads the message of a message entry.
func messageOf(e core.Entry) (message, error) {
	var v [len(messageMembers)]jsjson.Value
	whole, same, err := jsonl.Inside(e, "message", messageMembers[:], v[:])
	return message{whole, v[0], v[1], same}, err
}

var messageMembers = [...]string{"role", "content"}

// stored returns m, with empty content if it has none.
func (m message) stored() (jsjson.Value, error) {
	if m.whole.IsNullish() {
		return nil, nil
	}
	if !m.content.IsNullish() {
		return m.whole, nil
	}
	o, ok := jsonl.Nested(m.whole)
	if !ok {
		return m.whole, nil
	}
	switch {
	case m.role.Is("system"):
		o.Set("content", jsjson.Value(`""`))
	case m.role.Is("user"), m.role.Is("assistant"), m.role.Is("toolResult"):
		o.Set("content", jsjson.Value("[]"))
	default:
		return m.whole, nil
	}
	return jsonl.Build(&o)
}

func customMessage(e *jsjson.Object, content jsjson.Value) (jsjson.Value, error) {
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"custom"`))
	m.Set("customType", e.Get("customType"))
	m.Set("content", content)
	m.Set("display", e.Get("display"))
	m.Set("details", e.Get("details"))
	m.Set("timestamp", date.Millis(e.Get("timestamp")))
	return jsonl.Build(&m)
}

func branchSummary(e *jsjson.Object) (jsjson.Value, error) {
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"branchSummary"`))
	m.Set("summary", e.Get("summary"))
	m.Set("fromId", e.Get("fromId"))
	m.Set("timestamp", date.Millis(e.Get("timestamp")))
	return jsonl.Build(&m)
}

func compactionSummary(e *jsjson.Object) (jsjson.Value, error) {
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"compactionSummary"`))
	m.Set("summary", e.Get("summary"))
	m.Set("tokensBefore", e.Get("tokensBefore"))
	m.Set("timestamp", date.Millis(e.Get("timestamp")))
	return jsonl.Build(&m)
}
