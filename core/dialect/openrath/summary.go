package openrath

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// Summary counts the chunks. First is the text of the first user chunk.
// Modified is when the session was closed, empty before, because chunks have no
// time. Usage is that of the trailer, or else of the header. A trailer closes the
// session.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	s := &summarizer{}
	s.summary.Created = asISO(h.Time)
	if made, err := readHeader(h.Line); err == nil && made.Usage != nil {
		s.summary.Usage = item.Usage{Input: made.Usage.Prompt, Output: made.Usage.Completion}
	}
	return s
}

type summarizer struct {
	summary display.Summary // without what the trailer says
	trailer []core.Entry    // the last one, if any
	read    int
}

// Summary implements optional.Summarizer.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	for i := s.read; i < len(es); i++ {
		if es[i].Aside {
			s.trailer = []core.Entry{es[i]}
			continue
		}
		s.summary.Messages++
		if s.summary.First != "" {
			continue
		}
		if c, ok := chunkOf(es[i]); ok && c.kind == KindUser {
			s.summary.First = listing.First(c.Content())
		}
	}
	s.read = len(es)
	sum := s.summary
	if t, ok := trailerOf(s.trailer); ok {
		sum.Closed = true
		sum.Modified = asISO(t.closed)
		if t.usage != nil {
			sum.Usage = item.Usage{Input: t.usage.Prompt, Output: t.usage.Completion}
		}
	}
	return sum
}
