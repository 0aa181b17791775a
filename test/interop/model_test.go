package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A model answers like a model provider, from a script, and records its requests.
type model struct {
	*httptest.Server
	mu      sync.Mutex
	script  []map[string]any // deltas of the remaining answers
	heard   []string         // texts of each request, in order
	shown   []string         // images of all requests, as data URLs, in order
	waiting chan struct{}    // gets a value when a late answer is requested
	proceed chan struct{}    // closed to send the late answer
	refused []string         // requests after the end of the script
}

// newModel starts a model. It ends with the test.
func newModel(tb testing.TB, script ...map[string]any) *model {
	tb.Helper()
	m := &model{script: script, waiting: make(chan struct{}, 1), proceed: make(chan struct{})}
	m.Server = httptest.NewServer(m)
	tb.Cleanup(func() {
		m.CloseClientConnections() // from killed agents
		m.Close()
	})
	return m
}

// late returns an answer that is sent only after proceed is closed.
func late(answer map[string]any) map[string]any {
	return map[string]any{"late": answer}
}

// says and calls return answers: a text, and a call of the shell.
func says(text string) map[string]any {
	return map[string]any{"role": "assistant", "content": text}
}

func calls(command string) map[string]any {
	arguments, _ := json.Marshal(map[string]string{"command": command}) // a map of strings cannot fail
	return map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
		"index": 0, "id": "call_interop", "type": "function",
		"function": map[string]any{"name": "bash", "arguments": string(arguments)},
	}}}
}

// ServeHTTP gives the next answer of the script as a stream of chunks.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	delta, ok := m.next(r, body)
	if !ok {
		http.Error(w, "the script has no answer", http.StatusBadRequest)
		return
	}
	if answer, ok := delta["late"].(map[string]any); ok {
		m.waiting <- struct{}{}
		select {
		case <-m.proceed:
			delta = answer
		case <-r.Context().Done():
			return
		}
	}
	finish := "stop"
	if delta["tool_calls"] != nil {
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(choices []any, usage map[string]any) {
		b, _ := json.Marshal(map[string]any{ // it is made of maps and strings
			"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1", "choices": choices, "usage": usage,
		})
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}, nil)
	chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil)
	chunk([]any{}, map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// next returns the next answer of the script, and false if there is none.
func (m *model) next(r *http.Request, body []byte) (map[string]any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.URL.Path != "/v1/chat/completions" || len(m.script) == 0 {
		m.refused = append(m.refused, fmt.Sprintf("%s %s %.2000s", r.Method, r.URL.Path, body))
		return nil, false
	}
	delta := m.script[0]
	m.script = m.script[1:]
	m.heard = append(m.heard, requestText(body))
	m.shown = append(m.shown, imagesIn(body)...)
	return delta, true
}

// asked returns the texts of each request so far, and the requests after the end of
// the script.
func (m *model) asked() (heard, refused []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.heard), slices.Clone(m.refused)
}

// pictures returns the images of all requests, as data URLs.
func (m *model) pictures() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.shown)
}

// imagesIn returns the images of a request.
func imagesIn(body []byte) []string {
	var urls []string
	for _, m := range dataURL.FindAllSubmatch(body, -1) {
		urls = append(urls, string(m[1]))
	}
	return urls
}

var dataURL = regexp.MustCompile(`"(data:image/[^"]*)"`)

// requestText returns the messages of a request, one after the other.
func requestText(body []byte) string {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, m := range request.Messages {
		for _, text := range textsIn(m.Content) {
			fmt.Fprintf(&b, "[%s] %s\n", m.Role, text)
		}
	}
	return b.String()
}

// textsIn returns the texts of a content: a string, or blocks.
func textsIn(content json.RawMessage) []string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// declare adds the model to the agent's settings in dir, as fake/fake-1. omp reads
// YAML, of which this JSON is a subset.
func (m *model) declare(tb testing.TB, a *agent, dir string) {
	tb.Helper()
	b, err := json.Marshal(map[string]any{"providers": map[string]any{"fake": map[string]any{
		"baseUrl": m.URL + "/v1", "apiKey": "x", "api": "openai-completions",
		"models": []any{map[string]any{
			"id": "fake-1", "name": "Fake", "reasoning": false, "input": []string{"text", "image"},
			"cost":          map[string]any{"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
			"contextWindow": 100_000, "maxTokens": 4096,
		}},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	files := map[string][]byte{a.models: b}
	if a.command == "omp" { // it probes ports of this machine for models
		files["config.yml"] = []byte(`{"disabledProviders":["ollama","llama.cpp","lm-studio"]}`)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, b := range files {
		testkit.WriteFile(tb, filepath.Join(dir, name), b)
	}
}
