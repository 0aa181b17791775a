package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/openai"
)

// serve returns a model on a server that answers with f, and retries once.
func serve(t *testing.T, f http.HandlerFunc) *openai.Model {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return openai.New("test-model", option.WithBaseURL(s.URL), option.WithAPIKey("key"), option.WithMaxRetries(1))
}

var request = loop.Request{
	Messages: []loop.Message{
		{Role: loop.System, Text: "be kind"},
		{Role: loop.User, Text: "go"},
		{Role: loop.Assistant, Calls: []loop.Call{{ID: "c1", Name: "read", Arguments: "{}"}}},
		{Role: loop.ToolResult, CallID: "c1", Name: "read", Text: "8080"},
		{Role: loop.Assistant, Text: "one moment"},
	},
	Tools: []loop.Spec{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object"}`)}},
}

const whole = `{"id":"r","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"hm","tool_calls":[` +
	`{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}}]}}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

var chunks = []string{
	`{"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"h"}}]}`,
	`{"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"m"}}]}`,
	`{"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c2","type":"function","function":{"name":"read","arguments":"{\"a\""}}]}}]}`,
	`{"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}`,
	`{"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
	`{"id":"r","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
	`[DONE]`,
}

func stream(w http.ResponseWriter, chunks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range chunks {
		fmt.Fprintf(w, "data: %s\n\n", c)
	}
}

var wantReply = loop.Reply{
	Text: "hm", Calls: []loop.Call{{ID: "c2", Name: "read", Arguments: `{"a":1}`}},
	Usage: &loop.Usage{Prompt: 3, Completion: 2, Total: 5}, Finish: loop.FinishTools,
}

func TestCompleteSendsAllMessagesAndReadsTheReply(t *testing.T) {
	t.Parallel()
	var body string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole)
	})
	got, err := m.Complete(t.Context(), request)
	testkit.Must(t, err)
	testkit.Equal(t, "reply", wantReply, got)
	for _, want := range []string{
		`{"content":"be kind","role":"system"}`, `{"content":"go","role":"user"}`, `{"content":"one moment","role":"assistant"}`,
		`"tool_calls":[{"id":"c1","function":{"arguments":"{}","name":"read"},"type":"function"}]`,
		`"tool_call_id":"c1"`, `"parameters":{"type":"object"}`, `"model":"test-model"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the request does not have %s:\n%s", want, body)
		}
	}
	_, err = m.Complete(t.Context(), loop.Request{Messages: request.Messages[:2], NoTools: true})
	testkit.Must(t, err)
	if !strings.Contains(body, `"tool_choice":"none"`) || strings.Contains(body, `"tools"`) {
		t.Errorf("a request without tools is %s", body)
	}
}

func TestStreamIsTheSameReply(t *testing.T) {
	t.Parallel()
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks...) })
	var shown []loop.Delta
	got, err := m.Stream(t.Context(), request, func(d loop.Delta) { shown = append(shown, d) })
	testkit.Must(t, err)
	testkit.Equal(t, "reply", wantReply, got)
	testkit.Equal(t, "deltas", []loop.Delta{{Text: "h"}, {Text: "m"}, {ID: "c2", Name: "read", Arguments: `{"a"`}, {Arguments: ":1}"}}, shown)
}

// A reply that is not whole is an error.
func TestBrokenRepliesAreErrors(t *testing.T) {
	t.Parallel()
	hangUp := func(w http.ResponseWriter) {
		_ = http.NewResponseController(w).Flush() // the handler panics next
		panic(http.ErrAbortHandler)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"ends in the middle": func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks[:4]...) },
		"ends with DONE":     func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks[0], "[DONE]") },
		"is empty":           func(w http.ResponseWriter, _ *http.Request) { stream(w) },
		"is not JSON":        func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks[0], `{"id":`) },
		"is another reply": func(w http.ResponseWriter, _ *http.Request) {
			stream(w, chunks[0], strings.Replace(chunks[1], `"r"`, `"s"`, 1))
		},
		"has an error": func(w http.ResponseWriter, _ *http.Request) {
			stream(w, chunks[0], `{"error":{"message":"overloaded"}}`)
		},
		"loses its connection":   func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks[:2]...); hangUp(w) },
		"is lost from the start": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"has no choices":         func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"choices":[]}`) },
	} {
		m := serve(t, answer)
		if r, err := m.Stream(t.Context(), request, func(loop.Delta) {}); err == nil {
			t.Errorf("a stream that %s is the reply %+v", name, r)
		}
		if r, err := m.Complete(t.Context(), request); err == nil {
			t.Errorf("a response that %s is the reply %+v", name, r)
		}
	}
}

// 429 is repeated after the time that the server asks for; other refusals are not,
// and the error has the status.
func TestRefusalsAreRepeatedAsTheServerAsks(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		stream(w, chunks...)
	})
	got, err := m.Stream(t.Context(), request, func(loop.Delta) {})
	testkit.Must(t, err)
	testkit.Equal(t, "reply", wantReply, got)

	n.Store(0)
	m = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		http.Error(w, `{"error":{"message":"who are you?"}}`, http.StatusUnauthorized)
	})
	_, err = m.Complete(t.Context(), request)
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.StatusCode != http.StatusUnauthorized || n.Load() != 1 {
		t.Errorf("error %v after %d requests", err, n.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Complete(ctx, request); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a request that was given up", err)
	}
}
