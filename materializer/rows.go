package materializer

import (
	"maps"
	"slices"
	"strings"
)

// Rows returns the row of every session, also of those in the trash and those
// that were erased: the oldest first, by what their headers say.
func (d *Directory) Rows() []Row {
	d.mu.RLock()
	rows := slices.AppendSeq(make([]Row, 0, len(d.rows)), maps.Values(d.rows))
	d.mu.RUnlock()
	slices.SortFunc(rows, func(a, b Row) int {
		if c := strings.Compare(a.Created, b.Created); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return rows
}
