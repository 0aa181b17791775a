package api

import (
	"time"

	"github.com/sesslog/sesslog/core/report"
)

// AuditRecord says who did what to the log, when, why and how it went.
type AuditRecord = report.AuditRecord

// AuditPage is an answer of GET /v1/audit, oldest first.
type AuditPage struct {
	Records []AuditRecord `json:"records"`
	Next    uint64        `json:"next,omitempty"` // pass as ?after= for the next page, 0 at the end
}

// AuditQuery selects audit records.
type AuditQuery struct {
	After uint64    // those with a higher number
	Since time.Time // those stored then or later
}
