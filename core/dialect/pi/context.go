package pi

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Context returns what pi's context builder returns at leaf: the messages, the
// thinking level and the model, as JSON.stringify writes them. A message entry
// whose message is missing or null, for which pi fails, adds nothing.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	if d.V073 {
		return context073(path)
	}
	chosen, err := choose(path, isSystem)
	if err != nil {
		return nil, err
	}
	edits, err := editsIn(chosen)
	if err != nil {
		return nil, err
	}
	messages, err := messagesIn(chosen, edits)
	if err != nil {
		return nil, err
	}
	end, err := appendSettings([]byte("]"), path)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		messages = append(messages, nil)
	}
	last := len(messages) - 1
	messages[0] = slices.Concat([]byte(`{"messages":[`), messages[0])
	messages[last] = slices.Concat(messages[last], end)
	// It makes room for just that, and does not clear it before: a context may be
	// as large as the session.
	return bytes.Join(messages, []byte(",")), nil
}

// messagesIn returns the messages that chosen adds to the context. Unchanged
// messages share the memory of their entries.
func messagesIn(chosen []core.Entry, edits map[string]jsjson.Value) ([][]byte, error) {
	all := make([][]byte, 0, len(chosen))
	for i, e := range chosen {
		if m := tidyMessage(e, edits); m != nil {
			all = append(all, m)
			continue
		}
		if e.Type == "compaction" && i > 0 {
			continue // an older one that the newest kept
		}
		replacement, edited := edits[e.ID]
		if e.Type == "message" && !edited {
			m, err := storedMessage(e)
			if err != nil {
				return nil, err
			}
			if m != nil {
				all = append(all, m)
			}
			continue
		}
		messages, err := messagesOf(e)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if edited {
				if m, err = edit(m, replacement); err != nil {
					return nil, err
				}
			}
			if m == nil {
				continue
			}
			b, err := jsonl.Append(nil, m)
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	return all, nil
}

// storedMessage returns the message of a message entry as the context has it,
// or nil if it has none.
func storedMessage(e core.Entry) ([]byte, error) {
	m, err := messageOf(e)
	if err != nil {
		return nil, err
	}
	if m.same && !m.content.IsNullish() {
		return m.whole, nil
	}
	v, err := m.stored()
	if v == nil || err != nil {
		return nil, err
	}
	return jsonl.Append(nil, v)
}

// appendSettings ends the context with the settings at the end of path: the
// last thinking level, "off" if there is none, and the last model that was
// chosen or that answered, null if there is none.
func appendSettings(b []byte, path []core.Entry) (json.RawMessage, error) {
	thinking, err := thinkingAt(path)
	if err != nil {
		return nil, err
	}
	model, err := modelAt(path)
	if err != nil {
		return nil, err
	}
	if thinking != nil {
		if b, err = jsonl.Append(append(b, `,"thinkingLevel":`...), thinking); err != nil {
			return nil, err
		}
	}
	if b, err = jsonl.Append(append(b, `,"model":`...), model); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

func thinkingAt(path []core.Entry) (jsjson.Value, error) {
	at := lastThinking(path)
	if at < 0 {
		return jsjson.Value(`"off"`), nil
	}
	o, err := jsonl.Object(path[at])
	return o.Get("thinkingLevel"), err
}

// lastThinking returns the index of the last entry that sets the thinking level,
// -1 without one.
func lastThinking(path []core.Entry) int {
	at := len(path) - 1
	for at >= 0 && path[at].Type != "thinking_level_change" {
		at--
	}
	return at
}

func modelAt(path []core.Entry) (jsjson.Value, error) {
	at := lastModel(path)
	if at < 0 {
		return jsjson.Value("null"), nil
	}
	o, err := jsonl.Object(path[at])
	if err != nil {
		return nil, err
	}
	if path[at].Type == "model_change" {
		return model(o.Get("provider"), o.Get("modelId"))
	}
	m, _ := jsonl.Nested(o.Get("message"))
	return model(m.Get("provider"), m.Get("model"))
}

// lastModel returns the index of the last entry that chooses a model, or that a
// model answered, -1 without one. An entry that cannot be read counts.
func lastModel(path []core.Entry) int {
	for at := len(path) - 1; at >= 0; at-- {
		switch path[at].Type {
		case "model_change":
			return at
		case "message":
			o, err := jsonl.Object(path[at])
			if err != nil {
				return at
			}
			if m, ok := jsonl.Nested(o.Get("message")); ok && m.Get("role").Is("assistant") {
				return at
			}
		}
	}
	return -1
}

func model(provider, id jsjson.Value) (jsjson.Value, error) {
	var o jsjson.Object
	o.Set("provider", provider)
	o.Set("modelId", id)
	return jsonl.Build(&o)
}
