package modeltest

import (
	"encoding/json"

	"github.com/sesslog/sesslog/session/loop"
)

// Anthropic is the messages API.
var Anthropic = Wire{
	Whole: func(r loop.Reply) string {
		content := []object{}
		if r.Text != "" {
			content = append(content, object{"type": "text", "text": r.Text})
		}
		for _, c := range r.Calls {
			content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
		}
		return text(anthropicMessage(content, stopReason(r.Finish), r.Usage))
	},
	Events: func(r loop.Reply) []string {
		start := anthropicMessage([]object{}, nil, r.Usage)
		events := []string{anthropicEvent("message_start", object{"message": start})}
		block := 0
		add := func(b object, kind, member string, pieces []string) {
			events = append(events, anthropicEvent("content_block_start", object{"index": block, "content_block": b}))
			for _, t := range pieces {
				events = append(events, anthropicEvent("content_block_delta", object{"index": block, "delta": object{"type": kind, member: t}}))
			}
			events = append(events, anthropicEvent("content_block_stop", object{"index": block}))
			block++
		}
		if r.Text != "" {
			add(object{"type": "text", "text": ""}, "text_delta", "text", halves(r.Text))
		}
		for _, c := range r.Calls {
			add(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, "input_json_delta", "partial_json", halves(c.Arguments))
		}
		end := object{"delta": object{"stop_reason": stopReason(r.Finish), "stop_sequence": nil}}
		if r.Usage != nil {
			end["usage"] = object{"output_tokens": r.Usage.Completion}
		}
		return append(events, anthropicEvent("ping", object{}), anthropicEvent("message_delta", end), anthropicEvent("message_stop", object{}))
	},
	Fault: "error\n" + `{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}`,
}

func anthropicEvent(name string, members object) string {
	members["type"] = name
	return name + "\n" + text(members)
}

func anthropicMessage(content []object, stop any, u *loop.Usage) object {
	m := object{"id": "r", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop}
	if u != nil {
		m["usage"] = object{"input_tokens": u.Prompt, "output_tokens": u.Completion}
	}
	return m
}

func stopReason(f loop.Finish) string {
	switch f {
	case loop.FinishStop:
		return "end_turn"
	case loop.FinishTools:
		return "tool_use"
	case loop.FinishLength:
		return "max_tokens"
	case loop.FinishFilter:
		return "refusal"
	}
	return string(f)
}
