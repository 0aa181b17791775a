package trajectory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/trajectory"
	"github.com/sesslog/sesslog/core/usage"
)

// The members of version 1.7 of the format, as its specification has them.
type (
	document struct {
		Version *string         `json:"schema_version"`
		Session string          `json:"session_id"`
		Agent   *agent          `json:"agent"`
		Steps   []step          `json:"steps"`
		Final   *final          `json:"final_metrics"`
		Extra   json.RawMessage `json:"extra"`
	}
	agent struct {
		Name    *string `json:"name"`
		Version *string `json:"version"`
		Model   string  `json:"model_name"`
	}
	step struct {
		ID          int             `json:"step_id"`
		Time        *string         `json:"timestamp"`
		Source      string          `json:"source"`
		Model       string          `json:"model_name"`
		Effort      string          `json:"reasoning_effort"`
		Message     json.RawMessage `json:"message"`
		Reasoning   string          `json:"reasoning_content"`
		Calls       []call          `json:"tool_calls"`
		Observation *struct {
			Results []result `json:"results"`
		} `json:"observation"`
		Metrics *metrics        `json:"metrics"`
		Answers int             `json:"llm_call_count"`
		Copied  bool            `json:"is_copied_context"`
		Extra   json.RawMessage `json:"extra"`
	}
	call struct {
		ID        *string                     `json:"tool_call_id"`
		Name      *string                     `json:"function_name"`
		Arguments *map[string]json.RawMessage `json:"arguments"`
	}
	result struct {
		Call    string          `json:"source_call_id"`
		Content json.RawMessage `json:"content"`
		Extra   json.RawMessage `json:"extra"`
	}
	part struct {
		Type   string  `json:"type"`
		Text   *string `json:"text"`
		Source *struct {
			Type string `json:"media_type"`
			Path string `json:"path"`
		} `json:"source"`
	}
	metrics struct {
		Prompt     int64              `json:"prompt_tokens"`
		Completion int64              `json:"completion_tokens"`
		Cached     int64              `json:"cached_tokens"`
		Cost       *float64           `json:"cost_usd"`
		Extra      map[string]float64 `json:"extra"`
	}
	final struct {
		Prompt     int64              `json:"total_prompt_tokens"`
		Completion int64              `json:"total_completion_tokens"`
		Cached     int64              `json:"total_cached_tokens"`
		Cost       *float64           `json:"total_cost_usd"`
		Steps      int                `json:"total_steps"`
		Extra      map[string]float64 `json:"extra"`
	}
)

// read reads a document by the rules of the specification.
func read(data []byte) (d document, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return d, err
	}
	if d.Version == nil || *d.Version != "ATIF-v1.7" || d.Agent == nil || d.Agent.Name == nil || d.Agent.Version == nil || len(d.Steps) == 0 {
		return d, fmt.Errorf("a required member is missing")
	}
	for i := range d.Steps {
		if err := d.Steps[i].check(i + 1); err != nil {
			return d, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return d, nil
}

func (s *step) check(id int) error {
	if s.ID != id {
		return fmt.Errorf("its id is %d", s.ID)
	}
	if s.Time != nil {
		if _, err := time.Parse(time.RFC3339, *s.Time); err != nil {
			return err
		}
	}
	if err := checkContent(s.Message); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	switch s.Source {
	case "agent":
	case "user", "system":
		if s.Model != "" || s.Effort != "" || s.Reasoning != "" || s.Calls != nil || s.Metrics != nil {
			return fmt.Errorf("%s has members of an agent", s.Source)
		}
	default:
		return fmt.Errorf("its source is %q", s.Source)
	}
	var ids []string
	for _, c := range s.Calls {
		if c.ID == nil || c.Name == nil || c.Arguments == nil {
			return fmt.Errorf("a call lacks a required member")
		}
		ids = append(ids, *c.ID)
	}
	if s.Observation == nil {
		return nil
	}
	for _, r := range s.Observation.Results {
		if r.Call != "" && !slices.Contains(ids, r.Call) {
			return fmt.Errorf("a result is of the call %q, which the step does not have", r.Call)
		}
		if err := checkContent(r.Content); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

// checkContent checks a text or parts.
func checkContent(raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return nil
	}
	var parts []part
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&parts); err != nil {
		return err
	}
	for _, p := range parts {
		image := p.Type == "image" && p.Text == nil && p.Source != nil && p.Source.Path != "" &&
			slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, p.Source.Type)
		if !image && (p.Type != "text" || p.Text == nil || p.Source != nil) {
			return fmt.Errorf("an invalid part in %s", raw)
		}
	}
	return nil
}

// exported returns the document of a path of entries.
func exported(t *testing.T, d core.Dialect, h core.Header, path []core.Entry) document {
	t.Helper()
	steps, err := trajectory.Of(d, h, path, usage.Listed())
	if err != nil {
		t.Fatal(err)
	}
	fold := usage.NewFold(d, h)
	fold.Add(path...)
	b, err := steps.ATIF(fold.Path(path).Sum)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := read(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return doc
}

const header = `{"type":"session","version":3,"id":"0f6e2c1a-5f7e-7c3a-9b1d-2f3a4b5c6d7e","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}`

var talk = []string{
	`{"type":"thinking_level_change","id":"e0","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","thinkingLevel":"high"}`,
	`{"type":"message","id":"e1","parentId":"e0","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"aGk="}]}}`,
	`{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I read it."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.go"}}],"api":"x","provider":"anthropic","model":"claude-opus-4-8","usage":{"input":10,"output":5,"cacheRead":100,"cacheWrite":20,"totalTokens":135,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}},"stopReason":"toolUse","timestamp":1}}`,
	`{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"package a"}],"isError":false,"timestamp":1}}`,
	`{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"x","provider":"anthropic","model":"claude-opus-4-8","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"totalTokens":6,"cost":{"input":0.1,"output":0.1,"cacheRead":0,"cacheWrite":0,"total":0.2}},"stopReason":"stop","timestamp":1}}`,
	`{"type":"compaction","id":"e5","parentId":"e4","timestamp":"2026-01-02T03:04:10.000Z","summary":"They looked.","firstKeptEntryId":"e4","tokensBefore":9}`,
	`{"type":"message","id":"e6","parentId":"e5","timestamp":"2026-01-02T03:04:11.000Z","message":{"role":"user","content":"more"}}`,
}

func piTalk(t *testing.T) (core.Dialect, core.Header, []core.Entry) {
	t.Helper()
	pi := dialect.All()["pi"]
	h, err := pi.Header([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	return pi, h, dialecttest.Entries(t, pi, talk...)
}

func TestATIFHasEachAnswerWithItsCallsAndUsage(t *testing.T) {
	t.Parallel()
	pi, h, es := piTalk(t)
	doc := exported(t, pi, h, es)
	var sources []string
	for _, s := range doc.Steps {
		sources = append(sources, s.Source)
	}
	if got := strings.Join(sources, " "); got != "user agent agent system user" {
		t.Fatalf("the steps are of %s", got)
	}
	user, answer, compaction := doc.Steps[0], doc.Steps[1], doc.Steps[3]
	if got := string(user.Message); !strings.Contains(got, `"data:image/png;base64,aGk="`) {
		t.Errorf("the image is %s", got)
	}
	if answer.Model != "claude-opus-4-8" || answer.Effort != "high" || answer.Reasoning != "hm" || string(answer.Message) != `"I read it."` || answer.Answers != 1 {
		t.Errorf("the answer is %+v", answer)
	}
	if m := answer.Metrics; m == nil || m.Prompt != 130 || m.Cached != 100 || m.Completion != 5 || m.Cost == nil || *m.Cost != 0.3 || m.Extra["cache_creation_input_tokens"] != 20 {
		t.Errorf("its usage is %+v", m)
	}
	if o := answer.Observation; o == nil || len(o.Results) != 1 || o.Results[0].Call != "c1" || string(o.Results[0].Content) != `"package a"` {
		t.Errorf("its results are %+v", o)
	}
	if f := doc.Final; f.Prompt != 134 || f.Completion != 7 || f.Cached != 103 || f.Cost == nil || *f.Cost != 0.5 || f.Steps != 5 {
		t.Errorf("the sum is %+v", f)
	}
	if got := string(compaction.Extra); !strings.Contains(got, "truncate") || !strings.Contains(string(compaction.Observation.Results[0].Content), "They looked.") {
		t.Errorf("the compaction is %s", got)
	}
}

// Sessions of every dialect that holds messages say the same in the format.
func TestATIFOfEveryDialect(t *testing.T) {
	t.Parallel()
	pi, h, es := piTalk(t)
	for name, to := range dialect.All() {
		if !convert.Converses(to) || name == "bytestream" { // which has texts alone
			continue
		}
		res, err := convert.Convert(convert.Request{From: pi, To: to, Header: h, Entries: es[:5], Leaf: core.LeafAt("e4"), ID: convert.SessionID(h.ID, name)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path, err := to.Path(res.Entries, res.Leaf)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		doc := exported(t, to, res.Header, path)
		if *doc.Agent.Name != to.Name() || doc.Session != res.Header.ID {
			t.Errorf("%s: the agent is %s, the session %s", name, *doc.Agent.Name, doc.Session)
		}
		var said []string
		for _, s := range doc.Steps {
			said = append(said, s.Source+string(s.Message))
			for _, c := range s.Calls {
				said = append(said, *c.Name+string((*c.Arguments)["path"]))
			}
			if s.Observation != nil {
				said = append(said, string(s.Observation.Results[0].Content))
			}
		}
		all := strings.Join(said, " ")
		for _, want := range []string{"user", "look", `agent"I read it."`, `read"a.go"`, `"package a"`, `agent"Done."`} {
			_, rest, ok := strings.Cut(all, want)
			if !ok {
				t.Errorf("%s: no %s in its place: %s", name, want, said)
			}
			all = rest
		}
	}
}

// Lines of Claude Code that share an answer are one step, also with a result between
// them, and their usage counts once.
func TestATIFJoinsTheLinesOfAnAnswer(t *testing.T) {
	t.Parallel()
	claude := dialect.All()["claude"]
	line := func(id, parent, kind, message string) string {
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"7df70a83-0578-48a0-95c3-635d2740edfc","version":"2.1.197","type":%q,"message":%s,"uuid":%q,"timestamp":"2026-01-02T03:04:05.000Z"}`,
			parent, kind, message, id)
	}
	answer := func(content string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[` + content + `],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":3}}`
	}
	ids := []string{"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004", "00000000-0000-4000-8000-000000000005"}
	lines := []string{
		line(ids[0], "null", "user", `{"role":"user","content":"go"}`),
		line(ids[1], `"`+ids[0]+`"`, "assistant", answer(`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"a"}}`)),
		line(ids[2], `"`+ids[1]+`"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}`),
		line(ids[3], `"`+ids[2]+`"`, "assistant", answer(`{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"b"}}`)),
		line(ids[4], `"`+ids[3]+`"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"two","is_error":true}]}`),
	}
	es := dialecttest.Entries(t, claude, lines...)
	doc := exported(t, claude, core.Header{ID: "7df70a83-0578-48a0-95c3-635d2740edfc", Line: []byte("{}")}, es)
	if len(doc.Steps) != 2 {
		t.Fatalf("%d steps", len(doc.Steps))
	}
	s := doc.Steps[1]
	if len(s.Calls) != 2 || len(s.Observation.Results) != 2 || s.Metrics.Prompt != 7 || s.Metrics.Completion != 3 || s.Answers != 1 {
		t.Errorf("%+v with %+v", s, s.Metrics)
	}
	if got := string(s.Observation.Results[1].Extra); !strings.Contains(got, "failed") {
		t.Errorf("the failed result has %s", got)
	}
	if s.Metrics.Cost != nil || s.Metrics.Extra["estimated_cost_usd"] <= 0 {
		t.Errorf("an estimate is told as a cost: %+v", s.Metrics)
	}
}

// Hostile lines make a valid document, too: arguments that are no object, results of no
// call, images of other types, times that are none.
func TestATIFIsValidOfHostileLines(t *testing.T) {
	t.Parallel()
	pi, h, _ := piTalk(t)
	es := dialecttest.Entries(t, pi,
		`{"type":"message","id":"a1","parentId":null,"timestamp":"yesterday","message":{"role":"toolResult","toolCallId":"none","toolName":"x","content":[{"type":"image","mimeType":"image/svg+xml","data":"aGk="}]}}`,
		`{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"","arguments":[1]},{"type":"toolCall","id":"","name":"x"},{"type":"toolCall","id":"c","name":"y","arguments":"text"}],"stopReason":"error","errorMessage":"no"}}`,
		`{"type":"message","id":"a3","parentId":"a2","timestamp":"","message":{"role":"toolResult","toolCallId":"other","toolName":"x","content":[]}}`,
		`{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":""}]}}`,
	)
	doc := exported(t, pi, h, es)
	if len(doc.Steps) != 3 || len(doc.Steps[1].Calls) != 3 {
		t.Errorf("%+v", doc.Steps)
	}
	if got := string((*doc.Steps[1].Calls[0].Arguments)["input"]); strings.Join(strings.Fields(got), "") != "[1]" {
		t.Errorf("the arguments [1] became %s", got)
	}
}

func TestATIFNeedsMessages(t *testing.T) {
	t.Parallel()
	pi, h, es := piTalk(t)
	if _, err := trajectory.Of(pi, h, es[:1], usage.Prices{}); err == nil || !strings.Contains(err.Error(), "no messages") {
		t.Errorf("%v", err)
	}
}

// The sessions of real agents are valid in the format.
func TestATIFOfCorpus(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	n := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for name, d := range dialect.All() {
			if !d.Detect(data) {
				continue
			}
			f, err := d.File(data)
			if err != nil {
				continue // as its agent refuses it
			}
			path, err := d.Path(f.Entries, core.Leaf{})
			if _, silent := trajectory.Of(d, f.Header, path, usage.Prices{}); err == nil && silent == nil {
				exported(t, d, f.Header, path)
				n[name]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("sessions: %v", n)
	if len(n) == 0 {
		t.Error("no session was exported")
	}
}
