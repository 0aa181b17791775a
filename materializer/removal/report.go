package removal

import "github.com/sesslog/sesslog/core/report"

type (
	// Policy is report.Policy.
	Policy = report.Policy
	// Rule is report.Rule.
	Rule = report.Rule
	// Item is report.Item.
	Item = report.Item
	// Plan is report.Plan.
	Plan = report.Plan
	// Outcome is report.Outcome.
	Outcome = report.Outcome
	// Found is report.Found.
	Found = report.Found
	// Receipt is report.Receipt.
	Receipt = report.Receipt
	// Removed is report.Removed.
	Removed = report.Removed
	// Redacted is report.Redacted.
	Redacted = report.Redacted
)

// Values of Item.Do.
const (
	ToTrash = report.ToTrash
	ToErase = report.ToErase
)
