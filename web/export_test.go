package web

import (
	"maps"
	"slices"
)

// Patterns returns the patterns of all pages, sorted.
func Patterns() []string {
	p := &page{}
	all := slices.Collect(maps.Keys(p.pages()))
	return slices.Sorted(slices.Values(slices.AppendSeq(all, maps.Keys(p.streams()))))
}
