package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/anthropic"
	"github.com/sesslog/sesslog/session/loop/modeltest"
)

func model(url string, timeout time.Duration, o ...option.RequestOption) *anthropic.Model {
	return anthropic.New("test-model", append(o, option.WithBaseURL(url), option.WithAPIKey("key"), option.WithMaxRetries(1), option.WithRequestTimeout(timeout))...)
}

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Suite{
		Wire:  modeltest.Anthropic,
		Model: func(url string, timeout time.Duration) loop.Streamer { return model(url, timeout) },
		Status: func(err error) int {
			if e, ok := errors.AsType[*sdk.Error](err); ok {
				return e.StatusCode
			}
			return 0
		},
	}.Run(t)
}

// The messages of a request are alternately from the user and the assistant, and none
// of their texts is blank.
func TestRequestHasAllMessages(t *testing.T) {
	t.Parallel()
	var body string
	script := modeltest.Anthropic.Script(loop.Reply{}, loop.Reply{}, loop.Reply{Text: "ok", Finish: loop.FinishStop})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		r.Body = io.NopCloser(strings.NewReader(body))
		script(w, r)
	}))
	defer s.Close()
	rows := []loop.Message{
		{Role: loop.System, Text: "be kind"},
		{Role: loop.User, Text: "go"},
		{Role: loop.Assistant, Text: "\n\n", Calls: []loop.Call{{ID: "c1", Name: "read", Arguments: `{"a":1}`}, {ID: "c2", Name: "list", Arguments: "{"}}},
		{Role: loop.ToolResult, CallID: "c1", Name: "read", Text: "8080"},
		{Role: loop.ToolResult, CallID: "c2", Name: "list", Text: "bad"},
		{Role: loop.User},
		{Role: loop.User, Text: "and?"},
		{Role: loop.Assistant, Text: "one moment"},
	}
	tools := []loop.Spec{{Name: "list"}, {Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}}
	_, err := model(s.URL, 0, option.WithJSONSet("max_tokens", 7)).Complete(t.Context(), loop.Request{Messages: rows, Tools: tools})
	testkit.Must(t, err)
	testkit.Equal(t, "request", `{"max_tokens":7,"messages":[`+
		`{"content":[{"text":"go","type":"text"}],"role":"user"},`+
		`{"content":[{"id":"c1","input":{"a":1},"name":"read","type":"tool_use"},{"id":"c2","input":{},"name":"list","type":"tool_use"}],"role":"assistant"},`+
		`{"content":[{"tool_use_id":"c1","is_error":false,"content":[{"text":"8080","type":"text"}],"type":"tool_result"},`+
		`{"tool_use_id":"c2","is_error":false,"content":[{"text":"bad","type":"text"}],"type":"tool_result"},{"text":"and?","type":"text"}],"role":"user"},`+
		`{"content":[{"text":"one moment","type":"text"}],"role":"assistant"}],"model":"test-model","system":[{"text":"be kind","type":"text"}],`+
		`"tools":[{"input_schema":{"type":"object"},"name":"list"},{"input_schema":{"type":"object","additionalProperties":false},"name":"read","description":"Reads."}]}`, body)
	_, err = model(s.URL, 0).Complete(t.Context(), loop.Request{Messages: rows, NoTools: true})
	testkit.Must(t, err)
	if want := `"tool_choice":{"type":"none"},"tools":[{"input_schema":{"type":"object"},"name":"read"},{"input_schema":{"type":"object"},"name":"list"}]`; !strings.Contains(body, want) {
		t.Errorf("a request without tools is %s", body)
	}
}

// A call whose arguments may lack their end does not run, and other arguments arrive
// as the model wrote them.
func TestCutCallsAreLeftOut(t *testing.T) {
	t.Parallel()
	first := loop.Call{ID: "c1", Name: "read", Arguments: `{"a":1}`}
	want := loop.Reply{Calls: []loop.Call{first, {ID: "c2", Name: "read", Arguments: `{}`}}, Finish: loop.FinishLength}
	s := httptest.NewServer(modeltest.Anthropic.Script(want))
	defer s.Close()
	for _, ask := range []func() (loop.Reply, error){
		func() (loop.Reply, error) { return model(s.URL, 0).Complete(t.Context(), loop.Request{}) },
		func() (loop.Reply, error) {
			return model(s.URL, 0).Stream(t.Context(), loop.Request{}, func(loop.Delta) {})
		},
	} {
		got, err := ask()
		testkit.Must(t, err)
		testkit.Equal(t, "calls", []loop.Call{first}, got.Calls)
	}
	want = loop.Reply{Calls: []loop.Call{{ID: "c1", Name: "read", Arguments: `{"a":`}}, Finish: loop.FinishTools}
	s.Config.Handler = modeltest.Anthropic.Script(want)
	got, err := model(s.URL, 0).Stream(t.Context(), loop.Request{}, func(loop.Delta) {})
	testkit.Must(t, err)
	testkit.Equal(t, "reply", want, got)
}
