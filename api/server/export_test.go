package server

import (
	"maps"
	"slices"
)

// Patterns are what a server has handlers for, sorted: a method and a path each.
func Patterns() []string {
	s := New(Config{})
	all := slices.Collect(maps.Keys(s.routes()))
	return slices.Sorted(slices.Values(append(all, slices.Collect(maps.Keys(s.open()))...)))
}
