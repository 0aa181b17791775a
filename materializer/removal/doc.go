// Package removal takes sessions, or what some of their entries say, out of a log
// for good.
//
// The record that says so is always written first, so that a session is never
// half gone without a word: Erase and Redact may be stopped at any step, and the
// same again completes them. Then the snapshots go, and the log's records. What
// a node keeps for itself (rows, the search index, the prompt history) follows
// from the record on every node.
//
// Blobs are left alone: others may refer to them, and only the collection of
// blobs sees all who do. The receipts say what remains, and until when.
package removal
