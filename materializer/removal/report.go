package removal

import "github.com/sesslog/sesslog/core/report"

// What callers see of removals and of plans, see package report.
type (
	Policy   = report.Policy
	Rule     = report.Rule
	Item     = report.Item
	Plan     = report.Plan
	Outcome  = report.Outcome
	Found    = report.Found
	Receipt  = report.Receipt
	Removed  = report.Removed
	Redacted = report.Redacted
)

// Values of Item.Do.
const (
	ToTrash = report.ToTrash
	ToErase = report.ToErase
)
