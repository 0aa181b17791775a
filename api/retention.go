package api

import "github.com/sesslog/sesslog/core/report"

// Policy says which sessions go, see package report.
type Policy = report.Policy

// PolicyRule is one rule of a policy.
type PolicyRule = report.Rule

// Plan is what a policy comes to.
type Plan = report.Plan

// PlanOutcome is what became of a session of a plan.
type PlanOutcome = report.Outcome

// ApplyRequest executes a plan.
type ApplyRequest struct {
	Notice
	Plan Plan `json:"plan"`
}

// Applied is the result of executing a plan.
type Applied struct {
	Plan     string        `json:"plan"` // its id
	Done     int           `json:"done"`
	Outcomes []PlanOutcome `json:"outcomes"`
}
