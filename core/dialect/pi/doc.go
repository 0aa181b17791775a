// Package pi reads and writes sessions of the pi coding agent, by the rules of
// its version 1.5.2.
//
// A pi session is a file of JSON lines. The first that is an object is the
// header, type "session". Every other object is an entry; id and parentId form
// a tree. A later line of type "session" keeps its place but is not an entry:
// leaf, path, tree, context and info ignore it.
//
// This package gives the same results as pi, except where pi fails, never ends
// or hides data:
//
//   - A path of parents that forms a cycle ends at the first entry met again.
//     Entries that no root leads to are shown as roots.
//   - A message entry without a message is not part of the context.
//   - A byte order mark at the beginning of a file is dropped.
//   - A line that is JSON but not an object is skipped like one that is not
//     JSON.
//   - LeafAt an entry that does not exist is core.ErrNotFound; pi would
//     continue from the last entry.
//   - An id that is not a string is not an id.
//   - The ids that migration gives to the entries of an old file are derived
//     from its content, so every reading gives the same ids.
//
// Dialect.V073 has the rules of version 0.73.1, which reads fewer kinds of the
// same lines. Its contexts have every message as it is stored, whatever its
// content: no system message from a compaction, none dropped from what it kept,
// no context_edit, no empty content for missing content. It writes a file for a
// session once a model has answered, 1.5.2 once the user has sent a message,
// and it has no usage entries. In a branch_summary, fromId is the entry that
// the session continues from; in 1.5.2 it is the entry that was left. Both
// versions pass it on unchanged. Where 0.73.1 overwrites a file that is not a
// session, or stops at a line that is null, this package behaves as for 1.5.2.
//
// Two things are read differently: a date that is not ISO 8601 is not a date,
// and one without an offset is UTC.
//
// Package omp reads omp's files; a title slot is recognized here and refused.
package pi
