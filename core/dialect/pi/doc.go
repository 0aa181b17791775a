// Package pi reads and writes sessions of the pi coding agent, by the rules of
// its version 1.5.2.
//
// A pi session is a file of JSON lines. The first that is an object is the
// header, type "session". Every other object is an entry; id and parentId make
// a tree of them. A later line of type "session" is kept in its place and is
// no entry: leaf, path, tree, context and info do not see it.
//
// What this package says of a session is what pi says, except where pi fails,
// never ends or hides what is there:
//
//   - A chain of parents that comes back to itself ends at the first entry
//     met again. Entries that no root leads to are shown as roots.
//   - A message entry without a message has no part in the context.
//   - A byte order mark at the beginning of a file is dropped.
//   - A line that is JSON but no object is skipped like one that is no JSON.
//   - LeafAt an entry that is not there is core.ErrNotFound; pi would go on
//     from the last entry.
//   - An id that is not a string is no id.
//   - The ids that migration gives to the entries of an old file are derived
//     from what the file says, so every reading gives the same ones.
//
// Dialect.V073 has the rules of version 0.73.1, which makes less of the same
// lines. Its contexts have every message as it is stored, whatever its content:
// no system message that a compaction brings, and none dropped from what it
// kept, no context_edit, no empty content in place of none. It makes
// a file for a session once a model has answered, while 1.5.2 does for what the
// user said, and it has no usage entries. A branch_summary names in fromId what
// it goes on from, in 1.5.2 what was left; both versions pass it on as it is.
// Where 0.73.1 writes a session of its own over a file that is none, or stops
// at a line that is null, this package does what it does for 1.5.2.
//
// Two things are not read as pi reads them: a date that is not ISO 8601 is no
// date, and one without an offset is UTC.
//
// Package omp has files of its own; its title slot is told from a header here,
// and refused.
package pi
