package loop

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/jsonline"
)

// A note is what the line of an assistant's row says besides OpenRath's members,
// which OpenRath ignores.
type note struct {
	Finish  Finish `json:"finish_reason,omitempty"`
	Usage   *Usage `json:"usage,omitempty"`
	Started []int  `json:"started,omitempty"` // indexes of calls, in the order of their start
}

// chunk returns m as OpenRath's row.
func (m *Message) chunk() openrath.Chunk {
	switch m.Role {
	case System:
		return openrath.SystemText(m.Text)
	case Assistant:
		content := &m.Text
		if m.Text == "" && len(m.Calls) > 0 {
			content = nil
		}
		calls := make([]openrath.ToolCall, len(m.Calls))
		for i, c := range m.Calls {
			calls[i] = openrath.ToolCall(c)
		}
		return openrath.AssistantTurn(content, calls...)
	case ToolResult:
		return openrath.ToolFeedback(m.CallID, m.Name, m.Text)
	}
	return openrath.UserText(m.Text)
}

// line returns the line of a chunk with n as its last member, in place of an
// earlier one.
func (n note) line(line []byte) ([]byte, error) {
	b := []byte{'{'}
	add := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		quoted, _ := json.Marshal(name) // a string never fails
		b = append(append(append(b, quoted...), ": "...), value...)
	}
	err := jsonline.Members(line, func(name string, value jsontext.Value) {
		if name != "loop" {
			add(name, value)
		}
	})
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	add("loop", value)
	return append(b, '}'), nil
}

// A row is a line of a session as the loop reads it.
type row struct {
	Kind    Role `json:"kind"`
	Payload struct {
		Content    *string    `json:"content"`
		ToolCalls  []wireCall `json:"tool_calls"`
		ToolCallID string     `json:"tool_call_id"`
		Name       string     `json:"name"`
	} `json:"payload"`
	Loop note `json:"loop"`
}

// A wireCall is a call as OpenAI writes it.
type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// readRow reads a chunk.
func readRow(line []byte) (Message, note, error) {
	var r row
	if err := json.Unmarshal(line, &r); err != nil {
		return Message{}, note{}, fmt.Errorf("%v: %w", err, core.ErrCorrupt)
	}
	m := Message{Role: r.Kind, CallID: r.Payload.ToolCallID, Name: r.Payload.Name}
	if r.Payload.Content != nil {
		m.Text = *r.Payload.Content
	}
	for _, c := range r.Payload.ToolCalls {
		m.Calls = append(m.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return m, r.Loop, nil
}

// messages reads the rows of tables, one after the other.
func messages(tables ...openrath.Table) ([]Message, error) {
	var ms []Message
	for _, t := range tables {
		for i, c := range t.All() {
			m, _, err := readRow(c.Line(i))
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", i, err)
			}
			ms = append(ms, m)
		}
	}
	return ms, nil
}
