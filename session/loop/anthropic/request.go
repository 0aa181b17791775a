package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/sesslog/sesslog/session/loop"
)

// params returns the request for q. The API takes no blank texts, and no calls in
// messages without tools in the request.
func (m *Model) params(q loop.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.name, MaxTokens: MaxTokens}
	called := map[string]bool{}
	for i := range q.Messages {
		row := &q.Messages[i]
		if row.Role == loop.System {
			if strings.TrimSpace(row.Text) != "" {
				p.System = append(p.System, sdk.TextBlockParam{Text: row.Text})
			}
			continue
		}
		p.Messages = add(p.Messages, role(row.Role), blocks(row))
		for _, c := range row.Calls {
			if len(q.Tools) == 0 && !called[c.Name] {
				called[c.Name] = true
				p.Tools = append(p.Tools, tool(loop.Spec{Name: c.Name}))
			}
		}
	}
	for _, t := range q.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	if len(p.Tools) > 0 && (q.NoTools || len(q.Tools) == 0) {
		p.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
	}
	return p
}

// add appends blocks to the last message if it is from the same role: the results
// of a round are one message.
func add(ms []sdk.MessageParam, role sdk.MessageParamRole, blocks []sdk.ContentBlockParamUnion) []sdk.MessageParam {
	if len(blocks) == 0 {
		return ms
	}
	if n := len(ms); n > 0 && ms[n-1].Role == role {
		ms[n-1].Content = append(ms[n-1].Content, blocks...)
		return ms
	}
	return append(ms, sdk.MessageParam{Role: role, Content: blocks})
}

func role(r loop.Role) sdk.MessageParamRole {
	if r == loop.Assistant {
		return sdk.MessageParamRoleAssistant
	}
	return sdk.MessageParamRoleUser
}

func blocks(m *loop.Message) (bs []sdk.ContentBlockParamUnion) {
	if m.Role == loop.ToolResult {
		return append(bs, sdk.NewToolResultBlock(m.CallID, m.Text, false))
	}
	if strings.TrimSpace(m.Text) != "" {
		bs = append(bs, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		bs = append(bs, sdk.NewToolUseBlock(c.ID, input(c.Arguments), c.Name))
	}
	return bs
}

// input returns the arguments of a call. What is no object, which the API does not
// take, is an empty one; the row of its result says why.
func input(arguments string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

func tool(s loop.Spec) sdk.ToolUnionParam {
	if len(s.Schema) == 0 {
		s.Schema = json.RawMessage(`{"type":"object"}`)
	}
	t := sdk.ToolParam{Name: s.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](s.Schema)}
	if s.Description != "" {
		t.Description = sdk.String(s.Description)
	}
	return sdk.ToolUnionParam{OfTool: &t}
}
