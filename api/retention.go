package api

import (
	"github.com/sesslog/sesslog/materializer/removal"
)

// Policy says which sessions go, see package removal.
type Policy = removal.Policy

// PolicyRule is one rule of a policy.
type PolicyRule = removal.Rule

// Plan is what a policy comes to.
type Plan = removal.Plan

// PlanOutcome is what became of a session of a plan.
type PlanOutcome = removal.Outcome

// ApplyRequest asks for a plan to be done.
type ApplyRequest struct {
	Notice
	Plan Plan `json:"plan"`
}

// Applied says what became of a plan.
type Applied struct {
	Plan     string        `json:"plan"` // its id
	Done     int           `json:"done"`
	Outcomes []PlanOutcome `json:"outcomes"`
}
