package api

import (
	"maps"
	"slices"
)

// RoutePatterns are the calls that a server has handlers for, sorted.
func RoutePatterns() []string { return slices.Sorted(maps.Keys(New(Config{}).routes())) }

// RightPatterns are the calls that the table of rights has rows for, sorted.
func RightPatterns() []string { return slices.Sorted(maps.Keys(rights)) }
