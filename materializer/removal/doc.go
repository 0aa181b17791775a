// Package removal removes sessions, or the content of some of their entries,
// permanently from a log.
//
// Erase, redact and hold are records in the session's own chain. So they are
// ordered with all appends, hold on every node, and survive restores.
//
// The record is written first. Erase and Redact may stop at any step, and a
// repeated call completes them. After the record, they remove snapshots and
// records. What each node derives from the log (rows, the search index, prompts)
// follows from the record. If brokers flush late, twice the flush interval passes
// between the record and the removal.
//
//   - Erase ends the session: nothing can follow the record, and its id is never
//     used again. A session that cannot be read is erased too, unless its records
//     say that it is held.
//   - Redact keeps the entries' ids and places. A list says which members of a line
//     may stay; everything else is removed, and the result must still be the same
//     entry in its dialect. A checkpoint covers the redaction, and all that it
//     covers is removed.
//   - A hold prevents both, and deletion.
//
// Records are purged by subject here, and only here: erased content must be gone
// before a prefix of its shard is truncated. verify accepts that records before a
// session's first one are missing.
//
// Blobs are not removed: other sessions may refer to them, and only package gc sees
// all references. Receipts say what remains, and until when. The caller writes the
// audit record, before the removal and after it.
package removal
