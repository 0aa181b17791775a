package api

import "github.com/sesslog/sesslog/core/report"

// ApplyRequest executes a plan.
type ApplyRequest struct {
	Notice
	Plan report.Plan `json:"plan"`
}

// Applied is the result of executing a plan.
type Applied struct {
	Plan     string           `json:"plan"` // its id
	Done     int              `json:"done"`
	Outcomes []report.Outcome `json:"outcomes"`
}
