package tree

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// Admit refuses a label and a compaction that name an entry which does not
// exist, a label of no entry, and a header: entries after it would not continue
// what is before it. read is the dialect's Read, headers are the types of its
// headers.
func Admit(s core.Admission, e core.Entry, read func(core.Entry) []item.Item, headers ...string) error {
	if slices.Contains(headers, e.Type) {
		return fmt.Errorf("it is a header, and the session has one: %w", core.ErrInvalid)
	}
	if e.Type != "label" && e.Type != "compaction" {
		return nil
	}
	for _, it := range read(e) {
		refers := it.Kind == item.Label || it.Kind == item.Compaction
		switch {
		case it.Kind == item.Label && it.Target == "":
			return fmt.Errorf("it labels no entry: %w", core.ErrInvalid)
		case refers && it.Target != "" && !s.Has(it.Target):
			return fmt.Errorf("it names entry %.64q, which does not exist before it: %w", it.Target, core.ErrInvalid)
		}
	}
	return nil
}
