package tree

import (
	"bytes"

	"github.com/sesslog/sesslog/core"
)

// Common returns how many entries two paths have in common at their beginning: entries
// with the same id, or, since a copied session may have other ids, the same line.
func Common(a, b []core.Entry) int {
	n := 0
	for n < min(len(a), len(b)) && sameEntry(&a[n], &b[n]) {
		n++
	}
	return n
}

func sameEntry(a, b *core.Entry) bool {
	return a.ID != "" && a.ID == b.ID || bytes.Equal(a.Line, b.Line)
}
