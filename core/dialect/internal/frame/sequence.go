package frame

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/usage"
)

// Sequence is embedded by dialects whose sessions have no branches: each entry that is
// not aside continues the one before it.
type Sequence struct{}

// Linear is true.
func (Sequence) Linear() bool { return true }

// Leaf is the last entry, the default leaf if that has no id, or NoLeaf if there is
// none.
func (Sequence) Leaf(es []core.Entry) core.Leaf {
	rows := Rows(es)
	if len(rows) == 0 {
		return core.NoLeaf
	}
	return LeafAt(rows[len(rows)-1].ID)
}

// Path returns the entries up to leaf, or all of them for the default leaf. Of several
// with one id, the last counts. It returns core.ErrNotFound if leaf names no entry of es.
func (Sequence) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	rows := Rows(es)
	id, named := leaf.ID()
	switch {
	case leaf.IsNone():
		return nil, nil
	case !named:
		return rows, nil
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].ID == id && id != "" {
			return rows[:i+1], nil
		}
	}
	return nil, fmt.Errorf("entry %.64q: %w", id, core.ErrNotFound)
}

// Tree is the entries, each below the one before it.
func (Sequence) Tree(es []core.Entry) []display.TreeNode {
	rows := Rows(es)
	nodes := make([]display.TreeNode, len(rows))
	for i, e := range rows {
		nodes[i] = display.TreeNode{ID: e.ID, Type: e.Type, Depth: i}
	}
	return nodes
}

// Rows returns a copy of es without those that are aside.
func Rows(es []core.Entry) []core.Entry {
	return slices.DeleteFunc(slices.Clone(es), func(e core.Entry) bool { return e.Aside })
}

// Lines is embedded by Sesslog's own dialects, whose sessions are a header and the lines of
// a sequence.
type Lines struct{ Sequence }

// EntryID is 16 hex digits.
func (Lines) EntryID(random [16]byte) string { return hex.EncodeToString(random[:8]) }

// ImageStore is empty: images are part of the lines.
func (Lines) ImageStore() string { return "" }

// Layout is the header and the entries.
func (Lines) Layout(h core.Header, es []core.Entry) []core.Entry { return h.Before(es) }

// Meter implements usage.Reporter: sessions report no usage.
func (Lines) Meter(core.Header) (usage.Meter, []usage.Use) { return noMeter{}, nil }

type noMeter struct{}

// Read implements usage.Meter.
func (noMeter) Read(core.Entry) []usage.Use { return nil }

// File reads a header line and entry lines of d. Lines that are no entries are skipped.
func File(d core.Dialect, data []byte, version string) (*core.File, error) {
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	h, err := d.Header(first)
	if err != nil {
		return nil, err
	}
	f := &core.File{Dialect: d.Name(), Header: h, Version: version}
	for n := 2; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		e, err := d.Entry(line)
		if err != nil {
			f.Skipped = append(f.Skipped, core.BadLine{Line: n, Error: err.Error()})
			continue
		}
		f.Entries, f.Lines = append(f.Entries, e), append(f.Lines, n)
	}
	f.Exact = bytes.Equal(core.Lines(h.Before(f.Entries)), data)
	return f, nil
}
