package opencode

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Context returns {"messages":[…]}: what opencode sends when it resumes the
// session at leaf, in the form of Chat Completions, to the model that the last
// user chose. It has no system message, which is about the host, and not the next
// prompt. Returns core.ErrNotFound if leaf names an entry that does not exist.
func (Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	upto, err := entriesTo(es, leaf)
	if err != nil {
		return nil, err
	}
	history := fold(core.Header{}, upto).history()
	r := request{model: lastModel(history)}
	for _, m := range history {
		r.add(m)
	}
	return slices.Concat([]byte(`{"messages":[`), bytes.Join(r.messages, []byte(",")), []byte("]}")), nil
}

// lastModel is the model that the last message of a user asks, as provider and
// name.
func lastModel(ms []*message) (model [2]string) {
	for _, m := range ms {
		if id := text(m.info, "model", "modelID"); m.role == "user" && id != "" {
			model = [2]string{text(m.info, "model", "providerID"), id}
		}
	}
	return model
}

// A request is the messages that are sent.
type request struct {
	model    [2]string
	messages [][]byte
}

func (r *request) add(m *message) {
	switch m.role {
	case "user":
		r.user(m)
	case "assistant":
		if !m.isFailure() {
			r.assistant(m)
		}
	}
}

// The texts that opencode sends in place of something else.
const (
	askedToCompact = "What did we do so far?"
	askedForTool   = "The following tool was executed by the user"
	interrupted    = "[Tool execution was interrupted]"
	cleared        = "[Old tool result content cleared]"
	attachedByTool = "Attached media from tool result:"
)

func (r *request) user(m *message) {
	var c content
	for _, p := range m.ordered() {
		switch p.kind {
		case "text":
			if s := text(p.row, "text"); s != "" && !member(p.row, "ignored").Truthy() {
				c.text(s)
			}
		case "file":
			c.file(p.row)
		case "compaction":
			c.text(askedToCompact)
		case "subtask":
			c.text(askedForTool)
		}
	}
	r.said(&c)
}

// said adds a message of the user, unless it is empty.
func (r *request) said(c *content) {
	if c.n == 0 {
		return
	}
	b := []byte(`{"role":"user","content":`)
	if c.n == 1 && c.only != nil {
		b = append(b, c.only...)
	} else {
		b = append(append(append(b, '['), c.blocks...), ']')
	}
	r.messages = append(r.messages, append(b, '}'))
}

// isFailure reports whether m ended in an error, so that it is not sent. What was
// aborted is, if it says something.
func (m *message) isFailure() bool {
	failure := member(m.info, "error")
	if !failure.Truthy() {
		return false
	}
	if !member(failure, "name").Is("MessageAbortedError") {
		return true
	}
	for _, p := range m.parts {
		if p.kind != "step-start" && p.kind != "reasoning" {
			return false
		}
	}
	return true
}

// assistant adds a message for each step of an answer that says something, each
// followed by the results of its tools, and what these attached.
func (r *request) assistant(m *message) {
	a := answer{sameModel: r.model == [2]string{text(m.info, "providerID"), text(m.info, "modelID")}}
	parts := m.ordered()
	a.sealed = m.isSealed(parts)
	for _, p := range parts {
		if p.kind == "step-start" {
			r.step(&a)
			continue
		}
		a.part(p)
	}
	r.step(&a)
	if a.media.n > 0 {
		var c content
		c.text(attachedByTool)
		c.blocks = append(append(c.blocks, ','), a.media.blocks...)
		c.n += a.media.n
		r.said(&c)
	}
}

// isSealed reports whether m has thoughts with a provider's seal, next to which
// no text may be empty.
func (m *message) isSealed(parts []*part) bool {
	for _, p := range parts {
		if p.kind == "reasoning" && !member(p.row, "metadata", "anthropic", "signature").IsNullish() {
			return true
		}
	}
	return false
}

// step adds what a has since the last call.
func (r *request) step(a *answer) {
	if !a.some {
		return
	}
	b := jsonl.AppendMember([]byte(`{"role":"assistant"`), "content", a.text)
	if a.thought != "" {
		b = jsonl.AppendMember(b, "reasoning_content", a.thought)
	}
	if len(a.calls) > 0 {
		b = append(append(append(b, `,"tool_calls":[`...), a.calls...), ']')
	}
	r.messages = append(append(r.messages, append(b, '}')), a.results...)
	*a = answer{sameModel: a.sameModel, sealed: a.sealed, media: a.media}
}

// An answer is a step of an answer in the making.
type answer struct {
	sameModel, sealed bool
	some              bool
	text, thought     string
	calls             []byte
	results           [][]byte
	media             content // of all steps
}

func (a *answer) part(p *part) {
	switch p.kind {
	case "text":
		s := text(p.row, "text")
		if s == "" && a.sealed {
			s = " "
		}
		a.text, a.some = a.text+s, true
	case "reasoning":
		a.reasoning(text(p.row, "text"))
	case "tool":
		a.tool(p.row)
	}
}

// reasoning adds a thought. Another model gets it as text.
func (a *answer) reasoning(s string) {
	if a.sameModel {
		a.thought, a.some = a.thought+s, true
		return
	}
	if jsonl.Trim(s) != "" {
		a.text, a.some = a.text+s, true
	}
}

func (a *answer) tool(row jsjson.Value) {
	state := member(row, "state")
	input, err := jsonl.Append(nil, member(state, "input"))
	if err != nil {
		input = []byte("{}")
	}
	if len(a.calls) > 0 {
		a.calls = append(a.calls, ',')
	}
	call := text(row, "callID")
	function := jsonl.AppendMember(object("name", text(row, "tool")), "arguments", string(input))
	b := append(object("id", call), `,"type":"function","function":`...)
	a.calls, a.some = append(append(append(a.calls, b...), function...), `}}`...), true

	out := jsonl.AppendMember([]byte(`{"role":"tool"`), "tool_call_id", call)
	a.results = append(a.results, append(jsonl.AppendMember(out, "content", resultOf(state)), '}'))
	if member(state, "status").Is("completed") && !member(state, "time", "compacted").Truthy() {
		_ = jsjson.Each(member(state, "attachments"), func(v jsjson.Value) {
			if isMedia(text(v, "mime")) {
				a.media.file(v)
			}
		})
	}
}

// resultOf is what a model gets to read of a tool's result.
func resultOf(state jsjson.Value) string {
	switch text(state, "status") {
	case "completed":
		if member(state, "time", "compacted").Truthy() {
			return cleared
		}
		return text(state, "output")
	case "error":
		if out, ok := member(state, "metadata", "output").Text(); ok && string(member(state, "metadata", "interrupted")) == "true" {
			return out
		}
		return text(state, "error")
	}
	return interrupted
}
