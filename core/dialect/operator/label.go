package operator

import "github.com/sesslog/sesslog/core"

// A label is what a user called an entry, and when.
type label struct{ text, time string }

// labelsOf returns the labels in es by the id of their target. The last label
// entry of a target counts, on whatever branch it is. An entry without a label,
// or with an empty one, clears it. The target need not exist.
func labelsOf(es []core.Entry) map[string]label {
	labels := map[string]label{}
	for _, e := range es {
		if e.Type != typeLabel {
			continue
		}
		o, err := read(e)
		if err != nil {
			continue
		}
		target, _ := o.Get("target_id").Text()
		if s, _ := o.Get("label").Text(); s != "" {
			labels[target] = label{s, e.Time}
		} else {
			delete(labels, target)
		}
	}
	return labels
}
