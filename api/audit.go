package api

import (
	"time"

	"github.com/sesslog/sesslog/core/report"
)

// AuditPage is an answer of GET /v1/audit, oldest first.
type AuditPage struct {
	Records []report.AuditRecord `json:"records"`
	Next    uint64               `json:"next,omitempty"` // pass as ?after= for the next page, 0 at the end
}

// AuditQuery selects audit records.
type AuditQuery struct {
	After uint64    // those with a higher number
	Since time.Time // those stored then or later
}
