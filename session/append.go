package session

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// Append stores items as entries behind the leaf, in one record, and returns
// the entries' ids. The last of them is the leaf then; a core.ItemLeaf moves it
// to what it names. Where the agent's messages do not say which model answered,
// an entry that says so goes before an answer of another model than the last.
//
// core.ErrInvalid for an item that the dialect cannot say whole: write the
// agent's own line with AppendLine then. core.ErrNotFound for a label, a
// compaction or a leaf whose target is not there.
func (s *Session) Append(ctx context.Context, items ...core.Item) ([]string, error) {
	var ids []string
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		ids = nil
		for i, it := range items {
			if err := b.add(it); err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			ids = append(ids, b.entries[len(b.entries)-1].ID)
		}
		return b.entries, nil
	})
	return ids, err
}

// AppendLine stores lines of the agent's own as entries, in one record, and
// returns their ids. Absent ids, parents and times are filled in; the parent is
// the line before, or where the session stands. core.ErrInvalid for a line that
// is no entry, whose parent is not there or whose id is taken.
func (s *Session) AppendLine(ctx context.Context, lines ...[]byte) ([]string, error) {
	return s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		for i, line := range lines {
			if err := b.fill(bytes.Clone(line), b.leaf, ""); err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
		}
		return b.entries, nil
	})
}

// A batch is entries on their way into a session. The turn is held, so the
// session does not change meanwhile.
type batch struct {
	s       *Session
	leaf    core.Leaf
	entries []core.Entry
}

func (s *Session) batch() *batch { return &batch{s: s, leaf: s.leaf} }

// add appends what says it.
func (b *batch) add(it core.Item) error {
	if err := b.target(it); err != nil {
		return err
	}
	line, model, err := b.s.line(it)
	if err != nil {
		return err
	}
	if said := (core.Item{Kind: core.ItemModel, Provider: it.Provider, Model: it.Model}); model && !b.answers(said) {
		if err := b.add(said); err != nil {
			return err
		}
	}
	return b.fill(line, b.leaf, it.Time)
}

// line is an item in the dialect's words. model reports that they do not say
// which model answered.
func (s *Session) line(it core.Item) (line []byte, model bool, err error) {
	line, lost := s.d.Write(it)
	if line == nil && len(lost) == 0 {
		return nil, false, fmt.Errorf("%s has no entry for a %s: %w", s.d.Name(), it.Kind, core.ErrInvalid)
	}
	model = slices.Contains(lost, core.LostModel)
	lost = slices.DeleteFunc(slices.Clone(lost), func(what string) bool { return what == core.LostModel })
	if len(lost) > 0 {
		return nil, false, fmt.Errorf("%s has no place for this in a %s: %s: %w", s.d.Name(), it.Kind, strings.Join(lost, ", "), core.ErrInvalid)
	}
	return line, model, nil
}

// answers reports whether the last entry about a model, on the way to where b
// stands, says the same.
func (b *batch) answers(said core.Item) bool {
	path, err := b.s.d.Path(append(slices.Clip(b.s.entries), b.entries...), b.leaf)
	if err != nil {
		return false
	}
	for _, e := range slices.Backward(path) {
		for _, it := range b.s.d.Read(e) {
			if it.Kind == core.ItemModel {
				return it.Provider == said.Provider && it.Model == said.Model
			}
		}
	}
	return false
}

// target makes sure that what an item names is there.
func (b *batch) target(it core.Item) error {
	switch it.Kind {
	case core.ItemLabel:
	case core.ItemCompaction, core.ItemLeaf:
		if it.Target == "" {
			return nil
		}
	default:
		return nil
	}
	return b.there(it.Target)
}

// there returns core.ErrNotFound unless there is an entry called id.
func (b *batch) there(id string) error {
	if _, ok := b.s.entry(id); ok || b.has(id) {
		return nil
	}
	return fmt.Errorf("session %s has no entry %q: %w", b.s.id, clip(id), core.ErrNotFound)
}

func (b *batch) has(id string) bool {
	return slices.ContainsFunc(b.entries, func(e core.Entry) bool { return e.ID == id && id != "" })
}

// fill appends a line whose absent id, parent and time it fills in.
func (b *batch) fill(line []byte, parent core.Leaf, time string) error {
	d := b.s.d
	if c, ok := d.(core.Checker); ok {
		if err := c.Check(line); err != nil {
			return err
		}
	}
	if time == "" {
		time = b.s.o.stamp()
	}
	e, err := d.Fill(line, core.Fields{ID: b.newID(), Parent: parent, Time: time})
	if err != nil {
		return err
	}
	if err := b.admit(e); err != nil {
		return err
	}
	b.entries = append(b.entries, e)
	if !e.Aside {
		b.leaf = d.Leaf([]core.Entry{e})
	}
	return nil
}

// admit refuses what a log would.
func (b *batch) admit(e core.Entry) error {
	switch _, taken := b.s.entry(e.ID); {
	case bytes.IndexByte(e.Line, '\n') >= 0:
		return fmt.Errorf("it is more than one line: %w", core.ErrInvalid)
	case e.ID == "":
		return fmt.Errorf("it has no id: %w", core.ErrInvalid)
	case len(e.ID) > core.MaxEntryID:
		return fmt.Errorf("its id is %d bytes long, %d are allowed: %w", len(e.ID), core.MaxEntryID, core.ErrInvalid)
	case taken, b.has(e.ID):
		return fmt.Errorf("the id %q is taken: %w", clip(e.ID), core.ErrInvalid)
	}
	if e.Parent == "" || b.there(e.Parent) == nil {
		return nil
	}
	return fmt.Errorf("its parent %q is nowhere before it: %w", clip(e.Parent), core.ErrInvalid)
}

// newID is an id of the dialect's own shape that nobody has.
func (b *batch) newID() string {
	for {
		id := b.s.d.EntryID(random())
		if _, taken := b.s.entry(id); !taken && !b.has(id) {
			return id
		}
	}
}

// clip shortens s for an error message.
func clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return s[:64] + "…"
}
