package nova

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
)

// Text is what Nova tells a model about the session.
func (s State) Text() string {
	var lines []string
	if s.SessionID != "" {
		lines = append(lines, "Session ID: "+s.SessionID)
	}
	lines = append(lines, "Model: "+s.Model, "Turns: "+strconv.FormatInt(s.TurnCount, 10))
	if s.CurrentPlan != "" {
		lines = append(lines, "Plan: "+s.CurrentPlan)
	}
	if n := len(s.Decisions); n > 0 {
		lines = append(lines, "Recent decision: "+s.Decisions[n-1].Decision)
	}
	return strings.Join(lines, "\n")
}

// Context returns {"context": …, "state": …}: what Nova tells a model, and the
// state. It identifies the session only by its lines.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	s := Fold(core.Header{}, path)
	w := writer{b: []byte{'{'}}
	w.text("context", s.Text())
	w.key("state")
	w.b = append(w.b, s.Dict()...)
	return w.end(), nil
}

// Leaf is the last entry that has an id.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID != "" {
			return core.LeafAt(es[i].ID)
		}
	}
	return core.NoLeaf
}

// Path returns the entries up to leaf, or all of them for the default leaf. Of
// several with one id, the last counts. Returns core.ErrNotFound if leaf names
// an entry that does not exist.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	if leaf.IsNone() {
		return nil, nil
	}
	id, ok := leaf.ID()
	if !ok {
		return es, nil
	}
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID == id {
			return es[: i+1 : i+1], nil
		}
	}
	return nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
}

// Tree returns the changes in the order they came, each a root.
func (Dialect) Tree(es []core.Entry) []display.TreeNode {
	labels := fold(core.Header{}, es).labels
	nodes := make([]display.TreeNode, len(es))
	for i, e := range es {
		nodes[i] = display.TreeNode{ID: e.ID, Type: e.Type}
		if l, ok := labels[e.ID]; ok && e.ID != "" {
			nodes[i].Label, nodes[i].LabelTimestamp = &l.text, &l.time
		}
	}
	return nodes
}
