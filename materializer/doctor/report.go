package doctor

import (
	"context"

	"github.com/sesslog/sesslog/core/report"
)

// A treatable is a finding, and what repairs it.
type treatable struct {
	report.Finding
	treat func(context.Context) error // nil if nothing is safe to do
}
