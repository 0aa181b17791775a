// Package report defines what a log's servers report to operators: examinations,
// verifications, removals, blob collections, losses and audit records.
package report
