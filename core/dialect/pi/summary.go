package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
)

// Summary reads all branches, as listing.Of describes. Usage is what the
// assistant messages and the usage entries report; pi 0.73.1 does not know the
// latter.
func (d Dialect) Summary(h core.Header, es []core.Entry) core.Summary {
	usage := "usage"
	if d.V073 {
		usage = ""
	}
	s := listing.Of(h, es, usage)
	if name := nameOf(es); name != nil {
		s.Name = *name
	}
	return s
}
