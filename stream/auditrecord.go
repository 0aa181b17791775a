package stream

import "github.com/sesslog/sesslog/core/report"

// An AuditRecord is one act of an operator.
type AuditRecord = report.AuditRecord

// Outcomes of an act.
const (
	AuditBegun   = report.AuditBegun
	AuditDone    = report.AuditDone
	AuditRefused = report.AuditRefused
	AuditFailed  = report.AuditFailed
)
