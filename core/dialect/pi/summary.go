package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// Summary reads all branches, as listing.Listing describes. Usage is what the
// assistant messages and the usage entries report; pi 0.73.1 does not know the
// latter.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (d Dialect) Summarizer(h core.Header) optional.Summarizer {
	return &summarizer{Listing: listing.New(h, d.usageType())}
}

// Meter implements usage.Reporter.
func (d Dialect) Meter(core.Header) (usage.Meter, []usage.Use) {
	return listing.NewMeter(d.usageType()), nil
}

// usageType is the type of entries that report usage besides messages.
func (d Dialect) usageType() string {
	if d.V073 {
		return ""
	}
	return "usage"
}

type summarizer struct {
	*listing.Listing
	name string
}

// Summary implements optional.Summarizer. The last session_info names the session.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	added := s.Read(es)
	for i := range added {
		if added[i].Type != "session_info" {
			continue
		}
		s.name = ""
		if name := nameOf(added[i : i+1]); name != nil {
			s.name = *name
		}
	}
	sum := s.Listing.Summary()
	sum.Name = s.name
	return sum
}
