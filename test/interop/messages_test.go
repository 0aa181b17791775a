//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A messagesModel answers like the Messages API of Anthropic, from a script, and
// records the requests for messages. After the script it says OK.
type messagesModel struct {
	script[messagesAnswer]
	kill string // agent's directory: kill the agent that is answered with a hang,
	once string // its file has this text
}

// A messagesAnswer is the blocks of one answer, or an error.
type messagesAnswer struct {
	blocks []map[string]any
	status int
	hang   bool            // the stream stops before its end
	after  <-chan struct{} // closed before the answer is given; nil: at once
}

func newMessagesModel(tb testing.TB, answers ...messagesAnswer) *messagesModel {
	tb.Helper()
	m := &messagesModel{}
	m.answers = answers
	m.after = func() messagesAnswer { return messagesAnswer{blocks: []map[string]any{textBlock("OK.")}} }
	m.serve(tb, m)
	return m
}

// killOnHang makes an answer that hangs kill the live agent whose directory is dir, once
// it has stored text.
func (m *messagesModel) killOnHang(dir, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill, m.once = dir, text
}

// stored reports whether the agent's directory has a session with text.
func stored(dir, text string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "projects", "*", "*.jsonl"))
	return slices.ContainsFunc(found, func(path string) bool {
		b, _ := os.ReadFile(path) // the agent may be renaming it
		return bytes.Contains(b, []byte(text))
	})
}

func (m *messagesModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Stream   bool
		Messages []map[string]any
	}
	if r.URL.Path != "/v1/messages" || json.NewDecoder(r.Body).Decode(&body) != nil {
		fmt.Fprint(w, `{"data":[],"input_tokens":100}`)
		return
	}
	a, n := m.next(body.Messages)
	if !await(r, a.after) {
		return
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
		fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"the model refuses"}}`)
		return
	}
	stop := "end_turn"
	for _, b := range a.blocks {
		if b["type"] == "tool_use" {
			stop = "tool_use"
		}
	}
	usage := map[string]any{"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := map[string]any{
		"id": fmt.Sprintf("msg_01interop%04d", n), "type": "message", "role": "assistant", "model": body.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !body.Stream {
		message["content"], message["stop_reason"] = a.blocks, stop
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, data map[string]any) {
		data["type"] = kind
		b, _ := json.Marshal(data) // it is made of maps and strings
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
		_ = http.NewResponseController(w).Flush()
	}
	event("message_start", map[string]any{"message": message})
	for i, b := range a.blocks {
		start, delta := parts(b)
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, d := range delta {
			event("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		if a.hang {
			m.killAgent()
			<-r.Context().Done()
			return
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 10}})
	event("message_stop", map[string]any{})
}

// parts returns how a block begins in a stream, and what follows.
func parts(b map[string]any) (start map[string]any, deltas []map[string]any) {
	switch b["type"] {
	case "text":
		return map[string]any{"type": "text", "text": ""}, []map[string]any{{"type": "text_delta", "text": b["text"]}}
	case "thinking":
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}, []map[string]any{
			{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]},
		}
	}
	input, _ := json.Marshal(b["input"]) // as above
	return map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}},
		[]map[string]any{{"type": "input_json_delta", "partial_json": string(input)}}
}

// killAgent kills the processes that the agent's directory says are live.
func (m *messagesModel) killAgent() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for end := time.Now().Add(20 * time.Second); !stored(m.kill, m.once) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	found, _ := filepath.Glob(filepath.Join(m.kill, "sessions", "*.json"))
	for _, path := range found {
		pid := 0
		if _, err := fmt.Sscan(strings.TrimSuffix(filepath.Base(path), ".json"), &pid); err != nil || pid <= 1 {
			continue
		}
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.Contains(link, "claude") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
