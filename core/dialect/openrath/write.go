package openrath

import (
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/item"
)

// Write makes a chunk that says it. A summary and an extension's note become
// messages of a user. Returns nil for labels, names, changes of model, level,
// mode and channel, leaves and an extension's data, which a chunk cannot
// represent, and for an answer without texts and calls, which a model refuses.
func (Dialect) Write(it item.Item) (line []byte, lost []string) {
	var w writer
	var c Chunk
	if it.Kind == item.Message && it.Role == item.RoleAssistant && !slices.ContainsFunc(it.Blocks, isSaid) {
		it.Model = "" // the whole answer is lost, so its model is not named
		_ = w.answer(&it)
		return nil, append(w.lost, "an answer without text")
	}
	switch it.Kind {
	case item.Message:
		c = w.message(&it)
	case item.Compaction, item.Branch:
		c = UserText(it.Text)
	case item.Note:
		c = UserText(w.text(it.Blocks))
	default:
		return nil, nil
	}
	if it.Details != nil {
		w.lose("details")
	}
	return append(c.appendBody([]byte(`{"record_type": "chunk"`)), '}'), append(w.lost, it.LostOfSummary()...)
}

// isSaid reports whether OpenRath can represent b in an answer.
func isSaid(b item.Block) bool { return b.Kind == item.BlockText || b.Kind == item.BlockCall }

// A writer makes a chunk and notes what gets lost.
type writer struct{ lost []string }

func (w *writer) lose(what string) { w.lost = append(w.lost, what) }

func (w *writer) message(it *item.Item) Chunk {
	switch it.Role {
	case item.RoleSystem:
		return SystemText(w.text(it.Blocks))
	case item.RoleAssistant:
		return w.answer(it)
	case item.RoleTool:
		return w.result(it.Blocks)
	}
	return UserText(w.text(it.Blocks))
}

func (w *writer) answer(it *item.Item) Chunk {
	var calls []ToolCall
	var rest []item.Block
	var content *string
	for _, b := range it.Blocks {
		if b.Kind != item.BlockCall {
			rest = append(rest, b)
			continue
		}
		w.seal(b)
		calls = append(calls, ToolCall{b.ID, b.Name, jsonl.ArgumentText(b.Args)})
	}
	if s, some := w.texts(rest); some {
		content = &s
	}
	for _, what := range it.LostOfAnswer() {
		w.lose(what)
	}
	return AssistantTurn(content, calls...)
}

func (w *writer) result(bs []item.Block) Chunk {
	var r item.Block
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

func (w *writer) text(bs []item.Block) string {
	s, _ := w.texts(bs)
	return s
}

// texts is the texts in bs, a line each, and whether there are any.
func (w *writer) texts(bs []item.Block) (string, bool) {
	var texts []string
	for _, b := range bs {
		if b.Kind != item.BlockText {
			w.lose(string(b.Kind))
			continue
		}
		w.seal(b)
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

func (w *writer) seal(b item.Block) {
	if b.Signature != "" {
		w.lose("a provider's signature on a " + string(b.Kind))
	}
}
