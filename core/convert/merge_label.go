package convert

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A label is the text of an entry's label and when it was set.
type label struct{ text, time string }

// labelsOf returns the labels of a session by the id of the labeled entry.
func labelsOf(d core.Tree, es []core.Entry) map[string]label {
	labels := map[string]label{}
	for _, n := range d.Tree(es) {
		if n.Label == nil {
			continue
		}
		l := label{text: *n.Label}
		if n.LabelTimestamp != nil {
			l.time = *n.LabelTimestamp
		}
		labels[n.ID] = l
	}
	return labels
}

// carryLabels adds the labels that the entries had in their sessions, in the
// order of the entries, unless the paths set them already. If both sessions
// labeled an entry that they share, the first wins.
func (m *merging) carryLabels(ofA, ofB map[string]label, first []core.Entry, common int, own []core.Entry) error {
	have := labelsOf(m.d, m.out)
	for i, e := range first {
		want, ok := ofA[e.ID]
		if !ok && i < common {
			want = ofB[e.ID]
		}
		if err := m.label(e.ID, want, have[e.ID]); err != nil {
			return err
		}
	}
	for _, e := range own {
		to := m.newName(e.ID)
		if err := m.label(to, ofB[e.ID], have[to]); err != nil {
			return err
		}
	}
	return nil
}

// label sets target's label to want, unless have says that it is set already.
func (m *merging) label(target string, want, have label) error {
	if target == "" || want.text == have.text {
		return nil
	}
	last := m.out[len(m.out)-1]
	if last.ID == "" {
		return fmt.Errorf("the session ends with an entry that has no id, no label can follow it: %w", core.ErrInvalid)
	}
	f := core.Fields{ID: m.newID("label of " + target), Parent: core.LeafAt(last.ID), Time: want.time}
	if f.Time == "" {
		f.Time = last.Time // it was cleared, or its agent does not say when
	}
	e, err := m.d.Fill(m.d.NewLabel(target, want.text), f)
	if err != nil {
		return err
	}
	m.out = append(m.out, e)
	return nil
}
