package openrath

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Write makes a chunk that says it. A summary and an extension's note become
// messages of a user. Returns nil for labels, names, changes of model, level,
// mode and channel, leaves and an extension's data, which a chunk cannot
// represent.
func (Dialect) Write(it core.Item) (line []byte, lost []string) {
	var w writer
	var c Chunk
	switch it.Kind {
	case core.ItemMessage:
		c = w.message(&it)
	case core.ItemCompaction, core.ItemBranch:
		c = UserText(it.Text)
	case core.ItemNote:
		c = UserText(w.text(it.Blocks))
	default:
		return nil, nil
	}
	if it.Details != nil {
		w.lose("details")
	}
	return append(c.appendBody([]byte(`{"record_type": "chunk"`)), '}'), w.lost
}

// A writer makes a chunk and notes what gets lost.
type writer struct{ lost []string }

func (w *writer) lose(what string) { w.lost = append(w.lost, what) }

func (w *writer) message(it *core.Item) Chunk {
	switch it.Role {
	case core.RoleSystem:
		return SystemText(w.text(it.Blocks))
	case core.RoleAssistant:
		return w.answer(it)
	case core.RoleTool:
		return w.result(it.Blocks)
	}
	return UserText(w.text(it.Blocks))
}

func (w *writer) answer(it *core.Item) Chunk {
	var calls []ToolCall
	var rest []core.Block
	var content *string
	for _, b := range it.Blocks {
		if b.Kind != core.BlockCall {
			rest = append(rest, b)
			continue
		}
		w.seal(b)
		calls = append(calls, ToolCall{b.ID, b.Name, argumentText(b.Args)})
	}
	if s, some := w.texts(rest); some {
		content = &s
	}
	if it.Model != "" {
		w.lose("which model answered")
	}
	if it.Usage != nil {
		w.lose("what an answer cost")
	}
	switch it.Stop {
	case core.StopLength, core.StopFilter, core.StopError, core.StopAborted:
		w.lose("that an answer was cut short")
	}
	if it.Error != "" {
		w.lose("an answer's error")
	}
	return AssistantTurn(content, calls...)
}

// argumentText is args as a model returns them. In an item, text that is not
// JSON is a JSON string.
func argumentText(args []byte) string {
	if s, ok := jsjson.Value(args).Text(); ok {
		return s
	}
	if len(args) == 0 {
		return "{}"
	}
	return string(args)
}

func (w *writer) result(bs []core.Block) Chunk {
	var r core.Block
	if len(bs) > 0 {
		r = bs[0]
	}
	content := w.text(r.Blocks)
	c := ToolFeedback(r.ID, r.Name, content)
	if r.Failed && !c.result().Failed {
		w.lose("that a tool failed")
	}
	if r.Details != nil {
		w.lose("details of a tool's result")
	}
	return c
}

func (w *writer) text(bs []core.Block) string {
	s, _ := w.texts(bs)
	return s
}

// texts is the texts in bs, a line each, and whether there are any.
func (w *writer) texts(bs []core.Block) (string, bool) {
	var texts []string
	for _, b := range bs {
		if b.Kind != core.BlockText {
			w.lose(string(b.Kind))
			continue
		}
		w.seal(b)
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

func (w *writer) seal(b core.Block) {
	if b.Signature != "" {
		w.lose("a provider's signature on a " + string(b.Kind))
	}
}
