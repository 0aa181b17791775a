package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// Summary reads all branches, as listing.Listing describes. A session without a
// title has the short summary of its last compaction as its name. Usage is what
// the assistant messages report, and omp's own requests to models.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	t, _ := titleOf(h, nil)
	return &summarizer{Listing: listing.New(h, typeUsage), header: h, title: t.text}
}

// typeUsage is the type of entries that report omp's own requests to models.
const typeUsage = "model_usage"

// Meter implements usage.Reporter.
func (Dialect) Meter(core.Header) (usage.Meter, []usage.Use) { return listing.NewMeter(typeUsage), nil }

type summarizer struct {
	*listing.Listing
	header core.Header
	title  string
	short  string // the short summary of the last compaction that has one
}

// Summary implements optional.Summarizer. A title slot or a rename makes it look at
// the earlier ones again.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	titled := false
	for _, e := range s.Read(es) {
		titled = titled || e.Aside || e.Type == typeRename
		if e.Type != "compaction" {
			continue
		}
		if o, err := jsonl.Object(e); err == nil {
			if text, _ := o.Get("shortSummary").Text(); text != "" {
				s.short = text
			}
		}
	}
	if titled {
		t, _ := titleOf(s.header, es)
		s.title = t.text
	}
	sum := s.Listing.Summary()
	if sum.Name = s.title; sum.Name == "" {
		sum.Name = s.short
	}
	return sum
}
