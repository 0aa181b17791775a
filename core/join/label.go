package join

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A label is what somebody called an entry, and when.
type label struct{ text, time string }

// labelsOf returns the labels of a session by the entry that has them.
func labelsOf(d core.Dialect, es []core.Entry) map[string]label {
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

// carryLabels adds the labels that the entries had in their sessions, unless
// the paths say them already, in the order of the entries. Where both sessions
// labelled an entry that they share, the first has its way.
func (j *joint) carryLabels(ofA, ofB map[string]label, first []core.Entry, common int, own []core.Entry) error {
	said := labelsOf(j.d, j.es)
	for i, e := range first {
		want, ok := ofA[e.ID]
		if !ok && i < common {
			want = ofB[e.ID]
		}
		if err := j.label(e.ID, want, said[e.ID]); err != nil {
			return err
		}
	}
	for _, e := range own {
		to := j.newName(e.ID)
		if err := j.label(to, ofB[e.ID], said[to]); err != nil {
			return err
		}
	}
	return nil
}

// label labels target as it is wanted, unless it is said so already.
func (j *joint) label(target string, want, said label) error {
	if target == "" || want.text == said.text {
		return nil
	}
	last := j.es[len(j.es)-1]
	if last.ID == "" {
		return fmt.Errorf("the session ends with an entry that has no id, no label can follow it: %w", core.ErrInvalid)
	}
	f := core.Fields{ID: j.newID("label of " + target), Parent: core.LeafAt(last.ID), Time: want.time}
	if f.Time == "" {
		f.Time = last.Time // it was cleared, or its agent does not say when
	}
	e, err := j.d.Fill(j.d.NewLabel(target, want.text), f)
	if err != nil {
		return err
	}
	j.es = append(j.es, e)
	return nil
}
