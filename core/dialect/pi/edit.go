package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// editsIn returns the replacements that the context_edit entries in chosen ask
// for, by the id of their target; the last one of a target counts. As in pi,
// an edit without a target edits an entry without an id. A missing replacement,
// for which pi fails, is undefined and edits nothing.
func editsIn(chosen []core.Entry) (map[string]jsjson.Value, error) {
	edits := map[string]jsjson.Value{}
	for _, e := range chosen {
		if e.Type != "context_edit" {
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			return nil, err
		}
		v := o.Get("targetId")
		if target, ok := jsonl.Text(v); ok || v == nil {
			edits[target] = o.Get("replacement")
		}
	}
	return edits, nil
}

// edit returns message with its content replaced by that of replacement, or nil
// if replacement is null. Messages that are not the user's, the assistant's, a
// tool's or an extension's stay as they are.
func edit(message, replacement jsjson.Value) (jsjson.Value, error) {
	switch replacement.Kind() {
	case 0:
		return message, nil
	case 'n':
		return nil, nil
	}
	m, ok := jsonl.Nested(message)
	if !ok {
		return message, nil
	}
	role := m.Get("role")
	blocks := role.Is("assistant") || role.Is("toolResult")
	if !blocks && !role.Is("user") && !role.Is("custom") {
		return message, nil
	}
	m.Set("content", newContent(replacement, blocks))
	return jsonl.Build(&m)
}

// newContent returns the content in replacement. If blocks is set, a string
// becomes a text block.
func newContent(replacement jsjson.Value, blocks bool) jsjson.Value {
	r, ok := jsonl.Nested(replacement)
	if !ok {
		return nil
	}
	content := r.Get("content")
	if content.Kind() != '"' || !blocks {
		return content
	}
	b := append([]byte(`[{"type":"text","text":`), content...)
	return append(b, `}]`...)
}
