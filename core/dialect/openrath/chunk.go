package openrath

import (
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// A Kind is what a chunk is.
type Kind string

// The kinds of chunks.
const (
	KindSystem     Kind = "system"
	KindUser       Kind = "user"
	KindAssistant  Kind = "assistant"
	KindToolResult Kind = "tool_result"
)

func (k Kind) known() bool {
	return k == KindSystem || k == KindUser || k == KindAssistant || k == KindToolResult
}

// A Chunk is one row of a session. It never changes.
type Chunk struct {
	kind    Kind
	payload string // a JSON object
}

// NewChunk returns a chunk of kind with payload, a JSON object, unchanged.
// Returns ErrInvalid if the kind does not exist or payload is not an object.
func NewChunk(kind Kind, payload []byte) (Chunk, error) {
	if !kind.known() {
		return Chunk{}, fmt.Errorf("invalid chunk kind %q: %w", jsonl.Clip(string(kind), 40), core.ErrInvalid)
	}
	if err := jsonline.Members(payload, ignore); err != nil {
		return Chunk{}, fmt.Errorf("chunk payload must be a JSON object: %w", err)
	}
	return Chunk{kind, string(spaced(nil, payload))}, nil
}

// SystemText is a system message: how the agent should behave.
func SystemText(content string) Chunk { return textChunk(KindSystem, content) }

// UserText is a message of a user.
func UserText(content string) Chunk { return textChunk(KindUser, content) }

func textChunk(kind Kind, content string) Chunk {
	return Chunk{kind, `{"content": ` + string(quoted(content)) + `}`}
}

// A ToolCall asks for a tool. Arguments is the text that the model gave for
// them, as a rule a JSON object.
type ToolCall struct {
	ID, Name, Arguments string
}

// AssistantTurn is the answer of a model: text, tool calls in OpenAI's wire
// format, or both. A nil content means that there is none, which differs from
// an empty one.
func AssistantTurn(content *string, calls ...ToolCall) Chunk {
	text := []byte(null)
	if content != nil {
		text = quoted(*content)
	}
	b := append([]byte(`{"content": `), text...)
	b = append(b, `, "tool_calls": `...)
	return Chunk{KindAssistant, string(append(appendCalls(b, calls), '}'))}
}

func appendCalls(b []byte, calls []ToolCall) []byte {
	if len(calls) == 0 {
		return append(b, null...)
	}
	b = append(b, '[')
	for i, c := range calls {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, `{"id": `...), quoted(c.ID)...)
		b = append(append(b, `, "type": "function", "function": {"name": `...), quoted(c.Name)...)
		b = append(append(b, `, "arguments": `...), quoted(c.Arguments)...)
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// ToolFeedback is the answer of the tool called name to the call id.
func ToolFeedback(id, name, content string) Chunk {
	b := append([]byte(`{"tool_call_id": `), quoted(id)...)
	b = appendMember(b, "name", quoted(name))
	return Chunk{KindToolResult, string(append(appendMember(b, "content", quoted(content)), '}'))}
}

// Kind is what c is.
func (c Chunk) Kind() Kind { return c.kind }

// Payload is the content of c, a JSON object. The caller owns it.
func (c Chunk) Payload() json.RawMessage { return json.RawMessage(c.payload) }

// member is a member of the payload, or null if there is none.
func (c Chunk) member(name string) jsjson.Value {
	o, err := jsjson.ParseObject([]byte(c.payload))
	if v := o.Get(name); err == nil && v != nil {
		return v
	}
	return null
}

// Content is the text of c, or empty if there is none.
func (c Chunk) Content() string {
	s, _ := c.member("content").Text()
	return s
}

// Line is the chunk as the record that OpenRath writes at index, with its line
// separators as escapes.
func (c Chunk) Line(index int) []byte {
	b := appendMember([]byte(`{"record_type": "chunk"`), "index", jsonOf(index))
	return append(c.appendBody(b), '}')
}

// appendBody appends kind and payload as members.
func (c Chunk) appendBody(b []byte) []byte {
	b = appendMember(b, "kind", quoted(string(c.kind)))
	return append(append(b, `, "payload": `...), jsonline.EscapeSeparators([]byte(c.payload))...)
}
