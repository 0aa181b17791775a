package pi

import "github.com/sesslog/sesslog/core"

// A label is what a user called an entry, and when.
type label struct{ text, time string }

// labelsOf returns the labels in es by the id of their target. The last label
// entry of a target counts, on whatever branch it is; one without a label
// clears. The target need not be there. A target that is no string is none.
func labelsOf(es []core.Entry) map[string]label {
	labels := map[string]label{}
	for _, e := range es {
		if e.Type != "label" {
			continue
		}
		o, err := object(e)
		if err != nil {
			continue
		}
		target, ok := text(o.Get("targetId"))
		if !ok {
			continue
		}
		v := o.Get("label")
		if !v.Truthy() {
			delete(labels, target)
			continue
		}
		s, ok := text(v)
		if !ok {
			s = string(v)
		}
		labels[target] = label{s, e.Time}
	}
	return labels
}
