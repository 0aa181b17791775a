package convert

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// HidesHistory reports whether es holds a compaction or one of omp's resets. An
// agent that continues after them shows its model little or nothing of what
// came before es.
func HidesHistory(es []core.Entry) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool {
		return e.Type == "compaction" || e.Type == "reset_boundary"
	})
}

// After returns the entries that follow the entry with this id, or all of es if
// it is not among them.
func After(es []core.Entry, id string) []core.Entry {
	i := slices.IndexFunc(es, func(e core.Entry) bool { return e.ID == id })
	return es[i+1:]
}
