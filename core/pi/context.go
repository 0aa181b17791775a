package pi

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
	"github.com/sesslog/sesslog/core/internal/jsonl"
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
	b := append(make([]byte, 0, sizeOf(chosen)), `{"messages":[`...)
	if b, err = appendMessages(b, chosen, edits); err != nil {
		return nil, err
	}
	return appendSettings(append(b, ']'), path)
}

// sizeOf is about how long the messages of es will be.
func sizeOf(es []core.Entry) int {
	n := 128
	for i := range es {
		n += len(es[i].Line)
	}
	return n
}

func appendMessages(b []byte, chosen []core.Entry, edits map[string]esjson.Value) ([]byte, error) {
	start := len(b)
	for i, e := range chosen {
		if m := tidyMessage(e, edits); m != nil {
			if len(b) > start {
				b = append(b, ',')
			}
			b = append(b, m...)
			continue
		}
		if e.Type == "compaction" && i > 0 {
			continue // an older one that the newest kept
		}
		replacement, edited := edits[e.ID]
		if e.Type == "message" && !edited {
			var err error
			if b, err = appendStored(b, e, start); err != nil {
				return nil, err
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
			if b, err = jsonl.Append(comma(b, start), m); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendStored appends the message of a message entry as it is, which is what
// most of a context is.
func appendStored(b []byte, e core.Entry, start int) ([]byte, error) {
	m, err := messageOf(e)
	if err != nil {
		return nil, err
	}
	if m.same && !m.content.IsNullish() {
		return append(comma(b, start), m.whole...), nil
	}
	v, err := m.stored()
	if v == nil || err != nil {
		return b, err
	}
	return jsonl.Append(comma(b, start), v)
}

// comma ends what is before another item of the list whose items begin at start.
func comma(b []byte, start int) []byte {
	if len(b) > start {
		return append(b, ',')
	}
	return b
}

// appendSettings ends the context with the settings that hold at the end of
// path: the last thinking level, "off" where there is none, and the last model
// that was chosen or that answered, null where there is none.
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

func thinkingAt(path []core.Entry) (esjson.Value, error) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Type != "thinking_level_change" {
			continue
		}
		o, err := jsonl.Object(path[i])
		return o.Get("thinkingLevel"), err
	}
	return esjson.Value(`"off"`), nil
}

func modelAt(path []core.Entry) (esjson.Value, error) {
	for i := len(path) - 1; i >= 0; i-- {
		switch path[i].Type {
		case "model_change":
			o, err := jsonl.Object(path[i])
			if err != nil {
				return nil, err
			}
			return model(o.Get("provider"), o.Get("modelId"))
		case "message":
			o, err := jsonl.Object(path[i])
			if err != nil {
				return nil, err
			}
			if m, ok := jsonl.Nested(o.Get("message")); ok && m.Get("role").Is("assistant") {
				return model(m.Get("provider"), m.Get("model"))
			}
		}
	}
	return esjson.Value("null"), nil
}

func model(provider, id esjson.Value) (esjson.Value, error) {
	var o esjson.Object
	o.Set("provider", provider)
	o.Set("modelId", id)
	return jsonl.Build(&o)
}
