package operator

import (
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Usable removes from a context that Context returned the turns that a provider
// would refuse, as Operator does before it sends one: all turns of the
// assistant without any text, thinking or tool call; and at the end, turns of
// the assistant that did not stop normally, that call a tool without an answer,
// or that have no content. The session keeps all of them. Returns ErrInvalid if
// context is not a context.
func Usable(context json.RawMessage) (json.RawMessage, error) {
	o, err := jsjson.ParseObject(context)
	if err != nil {
		return nil, fmt.Errorf("context: %v: %w", err, core.ErrInvalid)
	}
	var turns []turn
	err = jsjson.Each(o.Get("messages"), func(m jsjson.Value) {
		if t := readTurn(m); !t.assistant || t.some {
			turns = append(turns, t)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("messages of the context: %v: %w", err, core.ErrInvalid)
	}
	for len(turns) > 0 && turns[len(turns)-1].dangles() {
		turns = turns[:len(turns)-1]
	}
	c := conversation{text: append(make([]byte, 0, len(context)), `{"messages":[`...)}
	for _, t := range turns {
		c.next()
		c.text = append(c.text, t.text...)
	}
	c.text = append(c.text, ']')
	for _, name := range []string{"thinking_level", "model_id", "provider_id"} {
		c.member(name, o.Get(name))
	}
	return append(c.text, '}'), nil
}

// A turn is a message and what matters of it.
type turn struct {
	text      jsjson.Value
	assistant bool
	stopped   bool // by itself
	some      bool // there is text, thinking or a tool call, be it blank
	calls     bool // there is a tool call
	says      bool // there is text that is not blank
}

func readTurn(text jsjson.Value) turn {
	t := turn{text: text}
	m, _ := jsonl.Nested(text)
	reason := m.Get("stop_reason")
	t.assistant = m.Get("role").Is("assistant")
	t.stopped = reason == nil || reason.Is("stop")
	_ = jsjson.Each(m.Get("contents"), func(item jsjson.Value) {
		block, ok := jsonl.Nested(item)
		if !ok {
			return
		}
		switch kind := blockType(&block); {
		case kind.Is("text"):
			s, _ := block.Get("content").Text()
			t.some, t.says = true, t.says || strip(s) != ""
		case kind.Is("thinking"):
			t.some = true
		case kind.Is("tool_call"):
			t.some, t.calls = true, true
		}
	})
	return t
}

// dangles reports whether the turn cannot be the last one.
func (t turn) dangles() bool { return t.assistant && (!t.stopped || t.calls || !t.says) }
