package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sesslog/sesslog/internal/testkit"
)

const tracedFile = `{"type":"session","version":3,"id":"0f6e2c1a-5f7e-7c3a-9b1d-2f3a4b5c6d7e","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"look"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I read it."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.go"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"false"}}],"api":"x","provider":"anthropic","model":"claude-opus-4-8","usage":{"input":10,"output":5,"cacheRead":100,"cacheWrite":20,"totalTokens":135,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.25}},"stopReason":"toolUse","timestamp":1}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"package a"}],"isError":false,"timestamp":1}}
{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-01-02T03:04:10.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[{"type":"text","text":"exit 1"}],"isError":true,"timestamp":1}}
{"type":"message","id":"e5","parentId":"e4","timestamp":"2026-01-02T03:04:11.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"x","provider":"anthropic","model":"claude-opus-4-8","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"totalTokens":6},"stopReason":"stop","timestamp":1}}
{"type":"message","id":"e6","parentId":"e5","timestamp":"2026-01-02T03:04:12.000Z","message":{"role":"user","content":"more"}}
`

// An otlpCollector is a collector on this host.
type otlpCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*spans.Span
	fails bool
}

func startCollector(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fails {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		b, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, of := range req.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL) // the exporter reads it
	return c
}

func (c *otlpCollector) take() []*spans.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.spans
	c.spans = nil
	return all
}

func attribute(s *spans.Span, name string) *common.AnyValue {
	for _, kv := range s.GetAttributes() {
		if kv.GetKey() == name {
			return kv.GetValue()
		}
	}
	return nil
}

// describe returns a span as a line: its parent, its name, and its times in seconds after 03:04.
func describe(all []*spans.Span) (lines []string) {
	names := map[string]string{}
	for _, s := range all {
		names[string(s.GetSpanId())] = s.GetName()
	}
	const begin = 1767323040e9 // 2026-01-02T03:04:00Z
	for _, s := range all {
		second := func(at uint64) string { return string(rune('0'+(at-begin)/1e10)) + string(rune('0'+(at-begin)/1e9%10)) }
		lines = append(lines, strings.TrimSpace(names[string(s.GetParentSpanId())]+" > "+s.GetName()+" "+second(s.GetStartTimeUnixNano())+"-"+second(s.GetEndTimeUnixNano())))
	}
	return lines
}

func TestTraceSendsTurnsAnswersAndCalls(t *testing.T) {
	c, f := startCollector(t), newFake(t)
	file := filepath.Join(f.home, "talk.jsonl")
	testkit.WriteFile(t, file, []byte(tracedFile))
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}
	wantResult(t, f.runWith(env, "trace", file), 0, "sent 6 spans of 2 turns", "")
	got := c.take()
	if diff := cmp.Diff([]string{
		"invoke_agent pi > chat claude-opus-4-8 06-08",
		"invoke_agent pi > execute_tool read 08-09",
		"invoke_agent pi > execute_tool bash 08-10",
		"invoke_agent pi > chat claude-opus-4-8 10-11",
		"> invoke_agent pi 06-11",
		"> invoke_agent pi 12-12",
	}, describe(got)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	for _, s := range got {
		if attribute(s, "gen_ai.conversation.id").GetStringValue() != "0f6e2c1a-5f7e-7c3a-9b1d-2f3a4b5c6d7e" {
			t.Errorf("%s names no conversation", s.GetName())
		}
		for _, kv := range s.GetAttributes() {
			if strings.Contains(kv.GetValue().String(), "I read it.") || strings.Contains(kv.GetValue().String(), "a.go") {
				t.Errorf("%s has content: %v", s.GetName(), kv)
			}
		}
	}
	chat, failed := got[0], got[2]
	for name, want := range map[string]int64{
		"gen_ai.usage.input_tokens": 130, "gen_ai.usage.output_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 100,
		"gen_ai.usage.cache_creation.input_tokens": 20,
	} {
		if v := attribute(chat, name).GetIntValue(); v != want {
			t.Errorf("%s is %d, want %d", name, v, want)
		}
	}
	for name, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-opus-4-8",
	} {
		if v := attribute(chat, name).GetStringValue(); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if v := attribute(chat, "sess.cost").GetDoubleValue(); v != 0.25 {
		t.Errorf("the cost is %v", v)
	}
	if chat.GetKind() != spans.Span_SPAN_KIND_CLIENT || failed.GetStatus().GetCode() != spans.Status_STATUS_CODE_ERROR ||
		attribute(failed, "gen_ai.tool.call.id").GetStringValue() != "c2" {
		t.Errorf("kind %v, %v", chat.GetKind(), failed)
	}

	// Sent again, with what was said: the same ids.
	wantResult(t, f.runWith(env, "trace", file, "--content"), 0, "sent 6 spans of 2 turns", "")
	again := c.take()
	for i := range got {
		if string(again[i].GetTraceId()) != string(got[i].GetTraceId()) || string(again[i].GetSpanId()) != string(got[i].GetSpanId()) {
			t.Errorf("%s has other ids", got[i].GetName())
		}
	}
	if string(got[4].GetTraceId()) == string(got[5].GetTraceId()) {
		t.Error("two turns are one trace")
	}
	for name, want := range map[string]string{
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"I read it."},` +
			`{"type":"tool_call","id":"c1","name":"read","arguments":{"path":"a.go"}},{"type":"tool_call","id":"c2","name":"bash","arguments":{"command":"false"}}],"finish_reason":"tool_call"}]`,
		"gen_ai.tool.call.result": "package a", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"look"}]}]`,
	} {
		found := ""
		for _, s := range again {
			if v := attribute(s, name); v != nil && found == "" {
				found = v.GetStringValue()
			}
		}
		if found != want {
			t.Errorf("%s is %s", name, found)
		}
	}
}

func TestTraceReportsCollectorsThatRefuse(t *testing.T) {
	c, f := startCollector(t), newFake(t)
	file := filepath.Join(f.home, "talk.jsonl")
	testkit.WriteFile(t, file, []byte(tracedFile))
	c.fails = true
	got := f.runWith(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}, "trace", file)
	if got.code == 0 || !strings.Contains(got.err, "403") {
		t.Errorf("%+v", got)
	}
	wantResult(t, f.run("trace", file), 2, "", "the environment names no collector")
}
