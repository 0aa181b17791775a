package doctor

import (
	"context"

	"github.com/sesslog/sesslog/core/report"
)

type (
	// Level is report.Level.
	Level = report.Level
	// Finding is report.Finding.
	Finding = report.Finding
	// Report is report.Examination.
	Report = report.Examination
	// Check is report.Check.
	Check = report.Check
)

// The levels, the most serious last.
const (
	Note    = report.Note
	Warning = report.Warning
	Danger  = report.Danger
)

// A treatable is a finding, and what repairs it.
type treatable struct {
	Finding
	treat func(context.Context) error // nil if nothing is safe to do
}
