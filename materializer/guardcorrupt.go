package materializer

import (
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// mostCorrupt bounds how many corrupt sessions a Guard remembers.
const mostCorrupt = 1000

// SetCorrupt remembers that a request or a verification found a session to be corrupt:
// a record, an image or a snapshot that it needs is missing or damaged. If why is nil,
// the session is intact again.
func (g *Guard) SetCorrupt(id core.SessionID, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch _, known := g.corrupt[id]; {
	case why == nil:
		delete(g.corrupt, id)
	case known || len(g.corrupt) < mostCorrupt:
		g.corrupt[id] = why.Error()
	}
}

// Corrupt returns the sessions that were found to be corrupt since this process began,
// sorted, without those that the log has lost records of.
func (g *Guard) Corrupt() []report.Corrupt {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []report.Corrupt
	for id, why := range g.corrupt {
		if l := g.losses[id]; l == nil || l.Accepted {
			out = append(out, report.Corrupt{Session: id, Why: why})
		}
	}
	slices.SortFunc(out, func(a, b report.Corrupt) int { return strings.Compare(string(a.Session), string(b.Session)) })
	return out
}
