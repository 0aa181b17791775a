package trajectory

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/usage"
)

// ATIFVersion is the version of the format that ATIF writes.
const ATIFVersion = "ATIF-v1.7"

// The members of the format, as far as they are used.
type (
	atif struct {
		Version string         `json:"schema_version"`
		Session string         `json:"session_id"`
		Agent   atifAgent      `json:"agent"`
		Steps   []atifStep     `json:"steps"`
		Final   atifFinal      `json:"final_metrics"`
		Extra   map[string]any `json:"extra,omitempty"`
	}
	atifAgent struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Model   string `json:"model_name,omitempty"`
	}
	atifStep struct {
		ID          int              `json:"step_id"`
		Time        string           `json:"timestamp,omitempty"`
		Source      string           `json:"source"`
		Model       string           `json:"model_name,omitempty"`
		Effort      string           `json:"reasoning_effort,omitempty"`
		Message     any              `json:"message"`
		Reasoning   string           `json:"reasoning_content,omitempty"`
		Calls       []atifCall       `json:"tool_calls,omitempty"`
		Observation *atifObservation `json:"observation,omitempty"`
		Metrics     *atifMetrics     `json:"metrics,omitempty"`
		Answers     int              `json:"llm_call_count,omitempty"`
		Copied      bool             `json:"is_copied_context,omitempty"`
		Extra       map[string]any   `json:"extra,omitempty"`
	}
	atifCall struct {
		ID        string          `json:"tool_call_id"`
		Name      string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	atifObservation struct {
		Results []atifResult `json:"results"`
	}
	atifResult struct {
		Call    string         `json:"source_call_id,omitempty"`
		Content any            `json:"content"`
		Extra   map[string]any `json:"extra,omitempty"`
	}
	atifPart struct {
		Type   string     `json:"type"`
		Text   *string    `json:"text,omitempty"`
		Source *atifImage `json:"source,omitempty"`
	}
	atifImage struct {
		Type string `json:"media_type"`
		Path string `json:"path"`
	}
	atifMetrics struct {
		Prompt     int64          `json:"prompt_tokens"`
		Completion int64          `json:"completion_tokens"`
		Cached     int64          `json:"cached_tokens"`
		Cost       *float64       `json:"cost_usd,omitempty"`
		Extra      map[string]any `json:"extra,omitempty"`
	}
	atifFinal struct {
		Prompt     int64          `json:"total_prompt_tokens"`
		Completion int64          `json:"total_completion_tokens"`
		Cached     int64          `json:"total_cached_tokens"`
		Cost       *float64       `json:"total_cost_usd,omitempty"`
		Steps      int            `json:"total_steps"`
		Extra      map[string]any `json:"extra,omitempty"`
	}
)

// ATIF returns the trajectory as one JSON document in the Agent Trajectory Interchange
// Format. total is the usage of its path, which may be more than that of the steps.
func (t *Trajectory) ATIF(total usage.Sum) ([]byte, error) {
	out := atif{
		Version: ATIFVersion, Session: t.Session, Agent: atifAgent{Name: t.Agent, Version: "unknown"},
		Final: atifFinal{
			Prompt: total.Input + total.CacheRead + total.CacheWrite, Completion: total.Output, Cached: total.CacheRead, Steps: len(t.Steps),
			Extra: extras("cache_creation_input_tokens", total.CacheWrite, "estimated_cost_usd", total.Estimate),
		},
		Extra: extras("cwd", t.CWD, "name", t.Name),
	}
	if total.Cost != 0 {
		out.Final.Cost = &total.Cost
	}
	for i := range t.Steps {
		s := t.Steps[i].atif(i + 1)
		if out.Agent.Model == "" {
			out.Agent.Model = s.Model
		}
		out.Steps = append(out.Steps, s)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}

func (s *Step) atif(id int) atifStep {
	out := atifStep{ID: id, Source: "user", Message: content(s.Blocks), Copied: s.Inherited}
	if _, err := time.Parse(time.RFC3339, s.Time); err == nil {
		out.Time = s.Time
	}
	switch s.Role {
	case item.RoleSystem:
		out.Source = "system"
	case item.RoleAssistant:
		s.answer(&out)
	}
	var results []atifResult
	switch s.Kind {
	case item.Compaction:
		boundary := "replace"
		if s.Kept {
			boundary = "truncate"
		}
		out.Message, out.Extra = "Context compaction performed", context("compaction", boundary)
		results = append(results, atifResult{Content: s.Text})
	case item.Branch:
		out.Message, out.Extra = s.Text, context("injection", "append")
	case item.Note:
		out.Extra = context("injection", "append")
	}
	for _, c := range s.Calls {
		for _, r := range c.Results {
			results = append(results, r.atif(c.ID))
		}
	}
	for _, r := range s.Results {
		results = append(results, r.atif(""))
	}
	if results != nil {
		out.Observation = &atifObservation{results}
	}
	return out
}

// answer adds what only steps of an agent may have.
func (s *Step) answer(out *atifStep) {
	out.Source, out.Model, out.Effort, out.Answers = "agent", s.Model, s.Level, s.Usage.Answers
	out.Extra = extras("provider", s.Provider, "stop", string(s.Stop), "error", s.Error)
	var said []item.Block
	var thoughts []string
	for _, b := range s.Blocks {
		switch {
		case b.Kind != item.BlockThinking:
			said = append(said, b)
		case b.Text != "":
			thoughts = append(thoughts, b.Text)
		}
	}
	out.Message, out.Reasoning = content(said), strings.Join(thoughts, "\n\n")
	for _, c := range s.Calls {
		out.Calls = append(out.Calls, atifCall{c.ID, c.Name, arguments(c.Args)})
	}
	if u := &s.Usage; u.Answers > 0 {
		out.Metrics = &atifMetrics{
			Prompt: u.Input + u.CacheRead + u.CacheWrite, Completion: u.Output, Cached: u.CacheRead,
			Extra: extras("cache_creation_input_tokens", u.CacheWrite, "estimated_cost_usd", u.Estimate),
		}
		if u.HasCost {
			out.Metrics.Cost = &u.Cost
		}
	}
}

func (r *Result) atif(call string) atifResult {
	out := atifResult{Call: call, Content: content(r.Blocks)}
	if r.Kind != item.BlockResult {
		out.Content = content([]item.Block{r.Block})
	}
	if r.Failed {
		out.Extra = map[string]any{"failed": true}
	}
	return out
}

// arguments returns the arguments of a call as the object that the format demands.
func arguments(args json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) == nil && object != nil {
		return args
	}
	if !json.Valid(args) {
		return json.RawMessage("{}")
	}
	return slices.Concat(json.RawMessage(`{"input":`), args, json.RawMessage("}"))
}

// imageTypes are those that the format allows.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// content returns blocks as a text, or with images as parts. Images are data URLs, so
// that the document is whole.
func content(blocks []item.Block) any {
	var parts []atifPart
	images := false
	for _, b := range blocks {
		text := b.Text
		switch {
		case b.Kind == item.BlockImage && slices.Contains(imageTypes, b.MIME):
			path := b.Data
			if !strings.HasPrefix(path, "blob:") {
				path = "data:" + b.MIME + ";base64," + path
			}
			parts, images = append(parts, atifPart{Type: "image", Source: &atifImage{b.MIME, path}}), true
			continue
		case b.Kind == item.BlockImage, b.Kind == item.BlockAudio:
			text = "(" + string(b.Kind) + " " + b.MIME + ")"
		case b.Kind != item.BlockText:
			continue
		}
		parts = append(parts, atifPart{Type: "text", Text: &text})
	}
	if images {
		return parts
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, *p.Text)
	}
	return strings.Join(texts, "\n")
}

// context says how a step of the system changes what the model gets.
func context(kind, boundary string) map[string]any {
	return map[string]any{"context_management": map[string]string{"type": kind, "boundary": boundary}}
}

// extras returns members by name, without those that are zero.
func extras(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1]; v {
		case "", int64(0), 0.0:
		default:
			out[pairs[i].(string)] = v
		}
	}
	return out
}
