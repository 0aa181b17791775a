package openrath

import (
	"github.com/sesslog/sesslog/core"
)

// Layout is the header, the chunks in order, and the last trailer. It replaces
// earlier trailers.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	lines := append(make([]core.Entry, 0, len(es)+1), core.Entry{Line: h.Line})
	for _, e := range es {
		if !e.Aside {
			lines = append(lines, e)
		}
	}
	if i := lastTrailer(es); i >= 0 {
		lines = append(lines, es[i])
	}
	return lines
}
