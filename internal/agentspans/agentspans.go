package agentspans

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/trajectory"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/internal/tracing"
)

// Attributes without a convention.
const (
	costKey     = attribute.Key("sess.cost")          // as the agent wrote it
	estimateKey = attribute.Key("sess.cost.estimate") // by a list of prices
)

// ErrDisabled is returned if the environment names no collector.
var ErrDisabled = tracing.ErrDisabled

// Send sends the spans of a session to the collector of the environment, which env reads.
// With content, they have what was said, and the arguments and results of calls. It
// returns how many spans the collector took, and how many turns the session has.
func Send(ctx context.Context, env func(string) string, t *trajectory.Trajectory, content bool) (sent, turns int, err error) {
	sent, err = tracing.Send(ctx, env, func(ctx context.Context, tracer trace.Tracer) { turns = emit(ctx, tracer, t, content) })
	return sent, turns, err
}

// emit starts and ends the spans of a session, and returns how many turns it has.
func emit(ctx context.Context, tracer trace.Tracer, t *trajectory.Trajectory, content bool) int {
	e := emitter{tracer: tracer, of: t, content: content, now: begin(t.Steps)}
	turns := turnsOf(t.Steps)
	for i, steps := range turns {
		e.turn(ctx, i, steps)
	}
	return len(turns)
}

// begin returns the first time that is known.
func begin(steps []trajectory.Step) time.Time {
	for i := range steps {
		if at, err := time.Parse(time.RFC3339, steps[i].Time); err == nil {
			return at
		}
	}
	return time.Unix(0, 0)
}

// turnsOf divides steps: a turn begins with what a user said after an answer.
func turnsOf(steps []trajectory.Step) (turns [][]trajectory.Step) {
	from, answered := 0, false
	for i := range steps {
		if answered && steps[i].Role == item.RoleUser {
			turns = append(turns, steps[from:i])
			from, answered = i, false
		}
		answered = answered || steps[i].Role == item.RoleAssistant
	}
	return append(turns, steps[from:])
}

type emitter struct {
	tracer  trace.Tracer
	of      *trajectory.Trajectory
	content bool
	now     time.Time // the end of the last span
}

// until moves now to a time, unless it is earlier or unknown.
func (e *emitter) until(text string) {
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(e.now) {
		e.now = at
	}
}

func (e *emitter) start(ctx context.Context, kind trace.SpanKind, operation attribute.KeyValue, name string, attrs []attribute.KeyValue) (context.Context, trace.Span) {
	attrs = append(attrs, operation, semconv.GenAIConversationID(e.of.Session))
	return e.tracer.Start(ctx, strings.TrimSpace(operation.Value.AsString()+" "+name),
		trace.WithSpanKind(kind), trace.WithTimestamp(e.now), trace.WithAttributes(attrs...))
}

func (e *emitter) turn(ctx context.Context, n int, steps []trajectory.Step) {
	e.until(steps[0].Time)
	attrs := []attribute.KeyValue{semconv.GenAIAgentName(e.of.Agent), semconv.GenAIProviderNameKey.String(providerOf(steps))}
	if e.content {
		attrs = append(attrs, semconv.GenAIInputMessagesKey.String(inputs(steps)))
	}
	ctx = spans.WithSeed(ctx, fmt.Sprintf("%s\x00%s\x00%d\x00%s", e.of.Agent, e.of.Session, n, steps[0].Time))
	ctx, root := e.start(ctx, trace.SpanKindInternal, semconv.GenAIOperationNameInvokeAgent, e.of.Agent, attrs)
	for i := range steps {
		s := &steps[i]
		if s.Role == item.RoleAssistant {
			e.answer(ctx, s)
			continue
		}
		e.until(s.Time)
		if s.Kind == item.Compaction {
			root.AddEvent("compaction", trace.WithTimestamp(e.now))
		}
	}
	root.End(trace.WithTimestamp(e.now))
}

func (e *emitter) answer(ctx context.Context, s *trajectory.Step) {
	u := &s.Usage
	attrs := []attribute.KeyValue{semconv.GenAIProviderNameKey.String(cmp.Or(s.Provider, unknown))}
	if s.Model != "" {
		attrs = append(attrs, semconv.GenAIRequestModel(s.Model), semconv.GenAIResponseModel(s.Model))
	}
	if reason := reasons[s.Stop]; reason != "" {
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(reason))
	}
	if u.Answers > 0 {
		attrs = append(attrs, semconv.GenAIUsageInputTokens(int(u.Input+u.CacheRead+u.CacheWrite)), semconv.GenAIUsageOutputTokens(int(u.Output)),
			semconv.GenAIUsageCacheReadInputTokens(int(u.CacheRead)), semconv.GenAIUsageCacheCreationInputTokens(int(u.CacheWrite)))
	}
	if u.HasCost {
		attrs = append(attrs, costKey.Float64(u.Cost))
	}
	if u.Estimate != 0 {
		attrs = append(attrs, estimateKey.Float64(u.Estimate))
	}
	if e.content {
		attrs = append(attrs, semconv.GenAIOutputMessagesKey.String(output(s)))
	}
	_, span := e.start(ctx, trace.SpanKindClient, semconv.GenAIOperationNameChat, s.Model, attrs)
	if s.Error != "" || s.Stop == item.StopError {
		span.SetAttributes(semconv.ErrorTypeOther)
		span.SetStatus(codes.Error, e.text(s.Error))
	}
	e.until(s.Time)
	span.End(trace.WithTimestamp(e.now))
	e.calls(ctx, s.Calls)
}

// calls adds the calls of an answer, which begin together.
func (e *emitter) calls(ctx context.Context, calls []trajectory.Call) {
	began, last := e.now, e.now
	for i := range calls {
		e.now = began
		e.call(ctx, &calls[i])
		if e.now.After(last) {
			last = e.now
		}
	}
	e.now = last
}

func (e *emitter) call(ctx context.Context, c *trajectory.Call) {
	attrs := []attribute.KeyValue{semconv.GenAIToolName(c.Name), semconv.GenAIToolCallID(c.ID), semconv.GenAIToolType("function")}
	if e.content {
		attrs = append(attrs, semconv.GenAIToolCallArgumentsKey.String(string(c.Args)))
	}
	_, span := e.start(ctx, trace.SpanKindInternal, semconv.GenAIOperationNameExecuteTool, c.Name, attrs)
	for _, r := range c.Results {
		if r.Failed {
			span.SetAttributes(semconv.ErrorTypeOther)
			span.SetStatus(codes.Error, "")
		}
		if e.content {
			span.SetAttributes(semconv.GenAIToolCallResultKey.String(textOf(r.Blocks)))
		}
		e.until(r.Time)
	}
	span.End(trace.WithTimestamp(e.now))
}

// text returns a text that may have content, if content is wanted.
func (e *emitter) text(s string) string {
	if !e.content {
		return ""
	}
	return s
}

// unknown is the provider of answers that do not name it.
const unknown = "_OTHER"

func providerOf(steps []trajectory.Step) string {
	for i := range steps {
		if steps[i].Provider != "" {
			return steps[i].Provider
		}
	}
	return unknown
}

// reasons are why answers end, in the words of the conventions.
var reasons = map[item.Stop]string{
	item.StopEnd: "stop", item.StopLength: "length", item.StopTools: "tool_call", item.StopFilter: "content_filter",
	item.StopError: "error", item.StopAborted: "error",
}

// A message and its parts, as the conventions have them in JSON.
type (
	message struct {
		Role   string `json:"role"`
		Parts  []part `json:"parts"`
		Finish string `json:"finish_reason,omitempty"`
	}
	part struct {
		Type      string          `json:"type"`
		Content   string          `json:"content,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
)

// inputs are the messages before the first answer of a turn.
func inputs(steps []trajectory.Step) string {
	all := []message{}
	for i := range steps {
		s := &steps[i]
		if s.Role == item.RoleAssistant {
			break
		}
		all = append(all, message{Role: string(s.Role), Parts: partsOf(s)})
	}
	return marshal(all)
}

func output(s *trajectory.Step) string {
	m := message{Role: string(s.Role), Parts: partsOf(s), Finish: cmp.Or(reasons[s.Stop], "stop")}
	for _, c := range s.Calls {
		p := part{Type: "tool_call", ID: c.ID, Name: c.Name}
		if json.Valid(c.Args) {
			p.Arguments = c.Args
		}
		m.Parts = append(m.Parts, p)
	}
	return marshal([]message{m})
}

func partsOf(s *trajectory.Step) []part {
	parts := []part{}
	if s.Text != "" {
		parts = append(parts, part{Type: "text", Content: s.Text})
	}
	for _, b := range s.Blocks {
		p := part{Type: "text", Content: textOf([]item.Block{b})}
		if b.Kind == item.BlockThinking {
			p = part{Type: "reasoning", Content: b.Text}
		}
		if p.Content != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// textOf returns the texts of blocks. Images and sounds are only named.
func textOf(blocks []item.Block) string {
	var texts []string
	for _, b := range blocks {
		switch b.Kind {
		case item.BlockText:
			texts = append(texts, b.Text)
		case item.BlockImage, item.BlockAudio:
			texts = append(texts, "("+string(b.Kind)+" "+b.MIME+")")
		}
	}
	return strings.Join(texts, "\n")
}

func marshal(v []message) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // cannot happen: arguments are valid
	}
	return string(b)
}
