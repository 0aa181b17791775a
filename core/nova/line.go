package nova

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// Entry reads any line as an entry. Entries of a chain have no parent.
func (Dialect) Entry(line []byte) (core.Entry, error) { return readEntry(line) }

func readEntry(line []byte) (core.Entry, error) {
	e, err := jsonl.Entry(line)
	e.Parent = ""
	return e, err
}

// Fill adds id and timestamp as far as f gives and line lacks them. A chain
// needs no parent. core.ErrInvalid also where the line is a change that says
// what it may not: here is where a change is checked on its way in.
func (Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	if _, err := readChange(line); err != nil {
		return core.Entry{}, err
	}
	f.Parent = core.Leaf{}
	e, err := jsonl.Fill(line, f)
	e.Parent = ""
	return e, err
}

// NewLabel makes a line that labels target. It is Sesslog's own: a state has
// no labels, and Nova's file does not show them.
func (Dialect) NewLabel(target, label string) []byte {
	b := begin(typeLabel)
	b.text("target", target)
	b.optional("label", label)
	return b.object()
}

// NewName makes a line that names the session. It is Sesslog's own, like a
// label.
func (Dialect) NewName(name string) []byte {
	b := begin(typeName)
	b.optional("name", name)
	return b.object()
}
