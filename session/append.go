package session

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// Append stores items as entries after the leaf, in one record, and returns the
// entries' ids. The last one becomes the leaf; a item.Leaf moves the leaf to
// its target. If the agent's messages do not name the model, Append adds an entry
// for it when the model changes.
//
// It returns core.ErrInvalid for an item that the dialect cannot represent in
// full (write the agent's own line with AppendLine instead), and core.ErrNotFound
// for a label, compaction or leaf whose target does not exist.
func (s *Session) Append(ctx context.Context, items ...item.Item) ([]string, error) {
	var ids []string
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		ids = nil
		for i, it := range items {
			err := optional.CheckItem(s.d, it)
			if err == nil {
				err = b.add(it)
			}
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			ids = append(ids, b.entries[len(b.entries)-1].ID)
		}
		return b.entries, nil
	})
	if err == nil || s.Err() != nil {
		s.compacted(ids)
	}
	return ids, err
}

// AppendLine stores lines in the agent's own format as entries, in one record, and
// returns their ids. It fills in missing ids, parents and times; the parent is the
// line before, or the session's leaf. It returns core.ErrInvalid for a line that
// is not an entry, whose parent does not exist or whose id is taken.
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

// AmendLine replaces the lines of entries, which keep their ids, parents and types,
// in one record for each line. It returns core.ErrNotFound for a line whose id no
// entry has. Repeating it is safe.
func (s *Session) AmendLine(ctx context.Context, lines ...[]byte) error {
	return s.amend(ctx, func() ([]core.Entry, error) {
		es := make([]core.Entry, len(lines))
		for i, line := range lines {
			e, err := s.d.Entry(bytes.Clone(line))
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			if _, ok := s.entry(e.ID); !ok {
				return nil, fmt.Errorf("session %s has no entry %q: %w", s.id, clip(e.ID), core.ErrNotFound)
			}
			es[i] = e
		}
		return es, nil
	})
}

// A batch collects new entries of a session. The caller holds writeLock.
type batch struct {
	s       *Session
	leaf    core.Leaf
	entries []core.Entry
}

func (s *Session) batch() *batch { return &batch{s: s, leaf: s.leaf} }

// add appends the entry for it.
func (b *batch) add(it item.Item) error {
	if err := b.target(it); err != nil {
		return err
	}
	if err := b.s.o.Steps.beforeCompact(it); err != nil {
		return err
	}
	if it.Time == "" {
		it.Time = b.s.o.stamp() // messages have it, too
	}
	line, model, err := b.s.line(it)
	if err != nil {
		return err
	}
	if said := (item.Item{Kind: item.Model, Provider: it.Provider, Model: it.Model}); model && !b.answers(said) {
		if err := b.add(said); err != nil {
			return err
		}
	}
	return b.fill(line, b.leaf, it.Time)
}

// line returns an item as a line of the dialect. model reports that the line does
// not name the model.
func (s *Session) line(it item.Item) (line []byte, model bool, err error) {
	line, lost := s.d.Write(it)
	if line == nil && len(lost) == 0 {
		return nil, false, fmt.Errorf("%s sessions have no entry for a %s: %w", s.d.Name(), it.Kind, core.ErrInvalid)
	}
	model = slices.Contains(lost, item.LostModel)
	lost = slices.DeleteFunc(slices.Clone(lost), func(what string) bool { return what == item.LostModel })
	if len(lost) > 0 {
		return nil, false, fmt.Errorf("sessions of %s cannot represent this in a %s: %s: %w", s.d.Name(), it.Kind, strings.Join(lost, ", "), core.ErrInvalid)
	}
	return line, model, nil
}

// answers reports whether the last model entry on the path to b's leaf names the
// same model.
func (b *batch) answers(said item.Item) bool {
	path, err := b.s.d.Path(append(slices.Clip(b.s.entries), b.entries...), b.leaf)
	if err != nil {
		return false
	}
	for _, e := range slices.Backward(path) {
		for _, it := range b.s.d.Read(e) {
			if it.Kind == item.Model {
				return it.Provider == said.Provider && it.Model == said.Model
			}
		}
	}
	return false
}

// target checks that the entry that an item names exists.
func (b *batch) target(it item.Item) error {
	switch it.Kind {
	case item.Label:
	case item.Compaction, item.Leaf:
		if it.Target == "" {
			return nil
		}
	default:
		return nil
	}
	return b.mustHave(it.Target)
}

// mustHave returns core.ErrNotFound if there is no entry id.
func (b *batch) mustHave(id string) error {
	if _, ok := b.s.entry(id); ok || b.has(id) {
		return nil
	}
	return fmt.Errorf("session %s has no entry %q: %w", b.s.id, clip(id), core.ErrNotFound)
}

func (b *batch) has(id string) bool {
	return slices.ContainsFunc(b.entries, func(e core.Entry) bool { return e.ID == id && id != "" })
}

// fill appends a line after filling in a missing id, parent and time.
func (b *batch) fill(line []byte, parent core.Leaf, time string) error {
	d := b.s.d
	if c, ok := d.(optional.Checker); ok {
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

// admit applies the rules of the log.
func (b *batch) admit(e core.Entry) error {
	switch _, taken := b.s.entry(e.ID); {
	case bytes.IndexByte(e.Line, '\n') >= 0:
		return fmt.Errorf("the entry has more than one line: %w", core.ErrInvalid)
	case e.ID == "":
		return fmt.Errorf("the entry has no id: %w", core.ErrInvalid)
	case len(e.ID) > core.MaxEntryID:
		return fmt.Errorf("the entry's id has %d bytes, %d are allowed: %w", len(e.ID), core.MaxEntryID, core.ErrInvalid)
	case taken, b.has(e.ID):
		return fmt.Errorf("the id %q is taken: %w", clip(e.ID), core.ErrInvalid)
	}
	if e.Parent != "" && b.mustHave(e.Parent) != nil {
		return fmt.Errorf("parent %q does not precede the entry: %w", clip(e.Parent), core.ErrInvalid)
	}
	if d, ok := b.s.d.(core.Admitter); ok {
		return d.Admit(core.Admission{
			Header: b.s.Header(), Last: b.last(),
			Has:   func(id string) bool { return b.mustHave(id) == nil },
			Count: func() int { return core.CountInTree(b.s.Entries()) + core.CountInTree(b.entries) },
		}, e)
	}
	return nil
}

// last returns the entry that was added last, zero if there is none.
func (b *batch) last() core.Entry {
	es := b.entries
	if len(es) == 0 {
		es = b.s.Entries()
	}
	if len(es) == 0 {
		return core.Entry{}
	}
	return es[len(es)-1]
}

// newID returns an unused id in the dialect's format.
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
