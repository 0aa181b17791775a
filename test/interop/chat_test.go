//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A chatModel answers like the Chat Completions API of OpenAI, from a script, and
// records the messages of each request. After the script it says OK. Titles of
// sessions are asked for at any time, and are no part of the script.
type chatModel struct {
	script[chatAnswer]
	hangs chan struct{} // gets a value when an answer hangs
}

// A chatAnswer is one answer.
type chatAnswer struct {
	thinks, says string
	calls        []chatCall
	tokens       int             // of the request, as the model counts them; default 100
	status       int             // of an error
	hang         bool            // the stream stops before its end
	after        <-chan struct{} // closed before the answer is given; nil: at once
}

// A chatCall is a call of a tool.
type chatCall struct {
	name string
	args map[string]any
}

func runsShell(command string) chatCall {
	return chatCall{"bash", map[string]any{"command": command, "description": "run it"}}
}

func newChatModel(tb testing.TB, answers ...chatAnswer) *chatModel {
	tb.Helper()
	m := &chatModel{hangs: make(chan struct{}, 1)}
	m.answers, m.after = answers, func() chatAnswer { return chatAnswer{says: "OK."} }
	m.serve(tb, m)
	return m
}

func (m *chatModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Messages []map[string]any
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&body) != nil {
		fmt.Fprint(w, `{"object":"list","data":[]}`)
		return
	}
	a, n := chatAnswer{says: "A title"}, 0
	if system, _ := json.Marshal(body.Messages[:min(1, len(body.Messages))]); !strings.Contains(strings.ToLower(string(system)), "title generator") {
		a, n = m.next(body.Messages)
	}
	if !await(r, a.after) {
		return
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
		fmt.Fprint(w, `{"error":{"message":"the model refuses","type":"invalid_request_error"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(choice, usage map[string]any) {
		c := map[string]any{"id": fmt.Sprint("chat-", n), "object": "chat.completion.chunk", "created": 1, "model": body.Model, "choices": []any{}, "usage": usage}
		if choice != nil {
			choice["index"] = 0
			c["choices"] = []any{choice}
		}
		b, _ := json.Marshal(c) // it is made of maps and strings
		fmt.Fprintf(w, "data: %s\n\n", b)
		_ = http.NewResponseController(w).Flush()
	}
	delta := func(d map[string]any) { chunk(map[string]any{"delta": d, "finish_reason": nil}, nil) }
	delta(map[string]any{"role": "assistant", "content": ""})
	if a.thinks != "" {
		delta(map[string]any{"reasoning_content": a.thinks})
	}
	if a.says != "" {
		delta(map[string]any{"content": a.says})
	}
	for i, c := range a.calls {
		args, _ := json.Marshal(c.args) // as above
		delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": map[string]any{"name": c.name, "arguments": string(args)},
		}}})
	}
	if a.hang {
		m.hangs <- struct{}{}
		<-r.Context().Done()
		return
	}
	finish := "stop"
	if len(a.calls) > 0 {
		finish = "tool_calls"
	}
	chunk(map[string]any{"delta": map[string]any{}, "finish_reason": finish}, nil)
	tokens := max(a.tokens, 100)
	chunk(nil, map[string]any{"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
