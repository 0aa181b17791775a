package join

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Hides reports whether an agent that goes on behind es shows its model little
// or nothing of what is in front of them: they hold a compaction, or one of
// omp's resets.
func Hides(es []core.Entry) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool {
		return e.Type == "compaction" || e.Type == "reset_boundary"
	})
}

// Behind returns the entries of a joined session that are behind the entry
// called id, where its first part ends.
func Behind(es []core.Entry, id string) []core.Entry {
	i := slices.IndexFunc(es, func(e core.Entry) bool { return e.ID == id })
	return es[i+1:]
}
