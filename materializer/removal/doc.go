// Package removal removes sessions, or the content of some of their entries,
// permanently from a log.
//
// The record that says so is written first. Erase and Redact may stop at any step,
// and a repeated call completes them. After the record, they remove snapshots and
// records. What each node derives from the log (rows, the search index, prompts)
// follows from the record.
//
// Blobs are not removed: other sessions may refer to them, and only package gc sees
// all references. Receipts say what remains, and until when.
package removal
