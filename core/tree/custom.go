package tree

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// Custom returns those of es that an extension added under this name, in order:
// data, and messages.
func Custom(d core.Translator, es []core.Entry, name string) []core.Entry {
	var found []core.Entry
	for _, e := range es {
		if slices.ContainsFunc(d.Read(e), func(it item.Item) bool {
			return (it.Kind == item.Custom || it.Kind == item.Note) && it.Type == name
		}) {
			found = append(found, e)
		}
	}
	return found
}
