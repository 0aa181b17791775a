package openrath

import (
	"encoding/json"
)

// Messages returns the table as OpenRath sends it to a model: a JSON list of
// messages of system, user, assistant and tool, in order. An assistant has
// tool_calls only if it calls tools, a tool the tool_call_id that it answers.
func (t Table) Messages() json.RawMessage {
	b := []byte{'['}
	for i, c := range t.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendMessage(b)
	}
	return append(b, ']')
}

func (c Chunk) appendMessage(b []byte) []byte {
	role := string(c.kind)
	if c.kind == KindToolResult {
		role = "tool"
	}
	b = append(append(append(b, `{"role":"`...), role...), '"')
	if c.kind == KindToolResult {
		b = append(append(b, `,"tool_call_id":`...), c.member("tool_call_id")...)
	}
	b = append(append(b, `,"content":`...), c.member("content")...)
	if calls := c.member("tool_calls"); c.kind == KindAssistant && calls.Kind() == '[' && string(calls) != "[]" {
		b = append(append(b, `,"tool_calls":`...), calls...)
	}
	return append(b, '}')
}
