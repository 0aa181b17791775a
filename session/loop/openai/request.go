package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/loop"
)

// params returns the request for q.
func (m *Model) params(q loop.Request) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{Model: m.name}
	for i := range q.Messages {
		p.Messages = append(p.Messages, message(&q.Messages[i]))
	}
	for _, t := range q.Tools {
		var schema sdk.FunctionParameters
		if len(t.Schema) > 0 {
			if err := json.Unmarshal(t.Schema, &schema); err != nil {
				return p, fmt.Errorf("schema of tool %q: %v: %w", t.Name, err, core.ErrInvalid)
			}
		}
		f := sdk.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			f.Description = sdk.String(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	if q.NoTools {
		p.ToolChoice.OfAuto = sdk.String("none")
	}
	return p, nil
}

func message(m *loop.Message) sdk.ChatCompletionMessageParamUnion {
	switch m.Role {
	case loop.System:
		return sdk.SystemMessage(m.Text)
	case loop.Assistant:
		return assistant(m)
	case loop.ToolResult:
		return sdk.ToolMessage(m.Text, m.CallID)
	}
	return sdk.UserMessage(m.Text)
}

func assistant(m *loop.Message) sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if m.Text != "" || len(m.Calls) == 0 {
		a.Content.OfString = sdk.String(m.Text)
	}
	for _, c := range m.Calls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: c.Arguments},
		}})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}
