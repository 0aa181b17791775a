package read

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// A brief has the members of an entry that a preview needs, by the names that
// agents have in common. Members of other types are ignored.
type brief struct {
	ID            string          `json:"id"`
	Type          string          `json:"type"`
	Role          string          `json:"role"`
	Message       json.RawMessage `json:"message"`
	Content       json.RawMessage `json:"content"`
	Contents      json.RawMessage `json:"contents"` // Operator's content
	Payload       json.RawMessage `json:"payload"`  // OpenRath's message
	Kind          string          `json:"kind"`     // OpenRath's role
	ToolCalls     json.RawMessage `json:"tool_calls"`
	Text          string          `json:"text"`
	Thinking      string          `json:"thinking"`
	Name          string          `json:"name"`
	ToolName      string          `json:"toolName"`
	Arguments     json.RawMessage `json:"arguments"`
	Args          json.RawMessage `json:"args"`
	Function      json.RawMessage `json:"function"`
	Command       string          `json:"command"`
	Summary       string          `json:"summary"`
	Label         string          `json:"label"`
	TargetID      string          `json:"targetId"`
	Target        string          `json:"target_id"`
	Provider      string          `json:"provider"`
	ModelID       string          `json:"modelId"`
	ProviderOf    string          `json:"provider_id"`
	ModelOf       string          `json:"model_id"`
	Model         string          `json:"model"`
	ThinkingLevel string          `json:"thinkingLevel"`
	Level         string          `json:"thinking_level"`
	CustomType    string          `json:"customType"`
	Custom        string          `json:"custom_type"`
}

func readBrief(line []byte) brief {
	var b brief
	_ = json.Unmarshal(line, &b) // members of the wrong type are skipped
	b.TargetID = cmp.Or(b.TargetID, b.Target)
	b.Provider, b.ModelID = cmp.Or(b.Provider, b.ProviderOf), cmp.Or(b.ModelID, b.ModelOf)
	b.ThinkingLevel, b.CustomType = cmp.Or(b.ThinkingLevel, b.Level), cmp.Or(b.CustomType, b.Custom)
	if len(b.Content) == 0 {
		b.Content = b.Contents
	}
	if len(b.Arguments) == 0 {
		b.Arguments = b.Args
	}
	if len(b.Message) == 0 && b.Kind != "" {
		b.Message = b.Payload
	}
	return b
}

// previewLength is the limit of a preview in bytes: enough for any screen.
const previewLength = 400

// preview returns a short text for an entry line.
func preview(line []byte) string {
	b := readBrief(line)
	if b.Type == "label" {
		if b.Label == "" {
			return "no label on " + b.TargetID
		}
		return fmt.Sprintf("%q on %s", b.Label, b.TargetID)
	}
	if len(b.Message) > 0 {
		m := readBrief(b.Message)
		m.Role = cmp.Or(m.Role, b.Kind)
		return cli.Join(": ", roleOf(m), m.words())
	}
	return b.words()
}

// roleOf returns the role of a message, with the name of a tool.
func roleOf(m brief) string { return cli.Join(" ", cmp.Or(m.Role, m.Type), m.ToolName) }

// words returns the text of a message, a block or an entry.
func (b brief) words() string {
	switch {
	case b.Type == "toolCall" || b.Type == "tool_use" || b.Type == "tool_call" || b.Type == "function_call":
		return clipText(b.Name + " " + string(b.Arguments))
	case len(b.Function) > 0:
		f := readBrief(b.Function)
		return clipText(f.Name + " " + string(f.Arguments))
	case b.Type == "image":
		return "(image)"
	case b.Provider != "" || b.ModelID != "":
		if len(b.Content) == 0 && b.Role == "" {
			return cli.Join("/", b.Provider, b.ModelID)
		}
	}
	said := contentText(b.Content)
	if len(b.ToolCalls) > 0 {
		said = cli.Join(" ", said, contentText(b.ToolCalls))
	}
	if b.Role != "" {
		b.Model = "" // not the text of a message
	}
	for _, s := range []string{said, b.Text, b.Summary, b.Command, b.Thinking, b.Name, b.Model, b.ThinkingLevel} {
		if s != "" {
			return clipText(cli.Join(": ", b.CustomType, s))
		}
	}
	return b.CustomType
}

// contentText returns the text of a content, which is a string or a list of blocks:
// first text, then tool calls, or thinking if there is nothing else.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return clipText(s)
	}
	var blocks []json.RawMessage
	_ = json.Unmarshal(raw, &blocks)
	var said, done, thought []string
	for _, block := range blocks {
		b := readBrief(block)
		switch {
		case b.Thinking != "":
			thought = append(thought, "("+clipText(b.Thinking)+")")
		case b.Type == "text":
			said = append(said, clipText(b.Text+contentText(b.Content)))
		case b.Type == "thinking":
			thought = append(thought, "("+contentText(b.Content)+")")
		case b.Type == "tool_result":
			said = append(said, contentText(b.Content))
		default:
			done = append(done, "["+b.words()+"]")
		}
	}
	if len(said)+len(done) == 0 {
		return clipText(cli.Join(" ", thought...))
	}
	return clipText(cli.Join(" ", append(said, done...)...))
}

func clipText(s string) string {
	if len(s) <= previewLength {
		return s
	}
	return strings.ToValidUTF8(s[:previewLength], "") + "…"
}
