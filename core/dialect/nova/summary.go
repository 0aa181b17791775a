package nova

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// Summary shows the session's current state. First is the plan or, if there is
// none, the last decision. Messages counts the turns. Nova does not distinguish
// tokens of prompt and answer: Usage.Input has them all.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	return &summarizer{header: h, folding: newFolding(h, nil)}
}

type summarizer struct {
	header  core.Header
	folding *folding
	read    int
}

// Summary implements optional.Summarizer. The second state of a session makes it
// read all entries again, to know which states the session had.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	if s.folding.had == nil && severalStates(es[s.read:], s.folding.states) {
		s.folding, s.read = newFolding(s.header, es), 0
	}
	for _, e := range es[s.read:] {
		s.folding.take(e)
	}
	s.read = len(es)
	f := s.folding.end(s.header)
	sum := display.Summary{
		Name: f.name, First: listing.First(f.CurrentPlan), Messages: int(f.TurnCount),
		Created: toISO(f.CreatedAt), Modified: toISO(f.LastUpdated), Tags: slices.Clone(f.Tags),
		Usage: item.Usage{Input: f.Metrics.TotalTokens},
	}
	if n := len(f.Decisions); sum.First == "" && n > 0 {
		sum.First = listing.First(f.Decisions[n-1].Decision)
	}
	return sum
}
