package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modeltest"
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

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Suite{
		Wire: modeltest.OpenAI,
		Model: func(url string, timeout time.Duration) loop.Streamer {
			return openai.New("test-model", option.WithBaseURL(url), option.WithAPIKey("key"), option.WithMaxRetries(1), option.WithRequestTimeout(timeout))
		},
		Status: func(err error) int {
			if e, ok := errors.AsType[*sdk.Error](err); ok {
				return e.StatusCode
			}
			return 0
		},
	}.Run(t)
}

func TestRequestHasAllMessages(t *testing.T) {
	t.Parallel()
	var body string
	script := modeltest.OpenAI.Script(loop.Reply{}, loop.Reply{}, loop.Reply{Text: "ok", Finish: loop.FinishStop})
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		r.Body = io.NopCloser(strings.NewReader(body))
		script(w, r)
	})
	_, err := m.Complete(t.Context(), request)
	testkit.Must(t, err)
	for _, want := range []string{
		`{"content":"be kind","role":"system"}`, `{"content":"go","role":"user"}`, `{"content":"one moment","role":"assistant"}`,
		`"tool_calls":[{"id":"c1","function":{"arguments":"{}","name":"read"},"type":"function"}]`,
		`"tool_call_id":"c1"`, `"parameters":{"type":"object"}`, `"model":"test-model"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the request does not have %s:\n%s", want, body)
		}
	}
	_, err = m.Complete(t.Context(), loop.Request{Messages: request.Messages, NoTools: true})
	testkit.Must(t, err)
	if !strings.Contains(body, `"tool_choice":"none"`) || strings.Contains(body, `"tools"`) {
		t.Errorf("a request without tools is %s", body)
	}
}

// A stream that continues as another one is an error.
func TestMixedStreamsAreRefused(t *testing.T) {
	t.Parallel()
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, id := range "rs" {
			fmt.Fprintf(w, "data: {\"id\":%q,\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"},\"finish_reason\":\"stop\"}]}\n\n", string(id))
		}
	})
	if r, err := m.Stream(t.Context(), request, func(loop.Delta) {}); err == nil {
		t.Errorf("the reply is %+v", r)
	}
}
