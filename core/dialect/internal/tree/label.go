package tree

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// A Label is what a user called an entry, and when.
type Label struct{ Text, Time string }

// Labels returns the labels in es by the id of their target. The last label
// entry of a target counts, on whatever branch it is. An entry without a label
// clears it. The target need not exist. A target that is not a string is
// ignored.
func Labels(es []core.Entry) map[string]Label {
	labels := map[string]Label{}
	for _, e := range es {
		if e.Type != "label" {
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			continue
		}
		target, ok := jsonl.Text(o.Get("targetId"))
		if !ok {
			continue
		}
		v := o.Get("label")
		if !v.Truthy() {
			delete(labels, target)
			continue
		}
		s, ok := jsonl.Text(v)
		if !ok {
			s = string(v)
		}
		labels[target] = Label{s, e.Time}
	}
	return labels
}

// LabelTexts returns the labels in es by the id of their target.
func LabelTexts(es []core.Entry) map[string]string {
	texts := map[string]string{}
	for id, l := range Labels(es) {
		texts[id] = l.Text
	}
	return texts
}
