package modeltest

import "github.com/sesslog/sesslog/session/loop"

// OpenAI is the chat completions API.
var OpenAI = Wire{
	Whole: func(r loop.Reply) string {
		message := object{"role": "assistant", "content": r.Text}
		if len(r.Calls) > 0 {
			var calls []object
			for _, c := range r.Calls {
				calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
			}
			message["tool_calls"] = calls
		}
		whole := object{"id": "r", "object": "chat.completion", "choices": []object{{"index": 0, "finish_reason": r.Finish, "message": message}}}
		if r.Usage != nil {
			whole["usage"] = r.Usage
		}
		return text(whole)
	},
	Events: func(r loop.Reply) []string {
		events := []string{openAIChunk(object{"role": "assistant", "content": ""}, "")}
		for _, t := range halves(r.Text) {
			events = append(events, openAIChunk(object{"content": t}, ""))
		}
		for i, c := range r.Calls {
			events = append(events, openAICall(object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}))
			for _, t := range halves(c.Arguments) {
				events = append(events, openAICall(object{"index": i, "function": object{"arguments": t}}))
			}
		}
		events = append(events, openAIChunk(object{}, r.Finish))
		return append(events, text(object{"id": "r", "object": "chat.completion.chunk", "choices": []object{}, "usage": r.Usage}), "[DONE]")
	},
	Optional: 2,
	Fault:    `{"error":{"message":"overloaded"}}`,
}

func openAICall(call object) string { return openAIChunk(object{"tool_calls": []object{call}}, "") }

func openAIChunk(delta object, f loop.Finish) string {
	choice := object{"index": 0, "delta": delta}
	if f != "" {
		choice["finish_reason"] = f
	}
	return text(object{"id": "r", "object": "chat.completion.chunk", "choices": []object{choice}})
}
