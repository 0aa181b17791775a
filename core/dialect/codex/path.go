package codex

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Leaf is the last line of the newest file of the thread.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	t, err := readThread(es)
	if err != nil {
		return frame.LastEntry(frame.Rows(es))
	}
	if lines := t.history(); len(lines) > 0 {
		return frame.LeafAt(lines[len(lines)-1].ID)
	}
	return core.NoLeaf
}

// Path returns the lines that lead to leaf: the base of its file as far as the
// file continues it, then the lines of the file. Lines that a revert took back
// are part of it only if leaf is one of them, and lines of sub-agents never.
// Returns core.ErrNotFound if leaf names no entry of es that has a place in the
// tree.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	lines, err := pathTo(es, leaf)
	if err != nil {
		return nil, err
	}
	path := make([]core.Entry, len(lines))
	for i := range lines {
		path[i] = lines[i].Entry
	}
	return path, nil
}

func pathTo(es []core.Entry, leaf core.Leaf) ([]rolloutLine, error) {
	if leaf.IsNone() {
		return nil, nil
	}
	t, err := readThread(es)
	if err != nil {
		return nil, err
	}
	lines := t.history()
	id, named := leaf.ID()
	if !named {
		return lines, nil
	}
	if i := indexOf(lines, id); i >= 0 {
		return lines[:i+1], nil
	}
	for _, r := range t.rollouts {
		if !r.own || indexOf(r.lines, id) < 0 {
			continue
		}
		lines = t.chain(r)
		return lines[:indexOf(lines, id)+1], nil
	}
	return nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
}

// history returns the lines from the beginning of the thread to its end.
func (t *thread) history() []rolloutLine {
	if r := t.newest(); r != nil {
		return t.chain(r)
	}
	return t.loose
}

// indexOf returns the place of the last line with this id that is not aside, or
// -1.
func indexOf(lines []rolloutLine, id string) int {
	for i, l := range slices.Backward(lines) {
		if l.ID == id && id != "" && !l.Aside {
			return i
		}
	}
	return -1
}
