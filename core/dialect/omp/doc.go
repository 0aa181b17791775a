// Package omp reads and writes sessions of omp (oh-my-pi), by the rules of its
// version 18.3.4.
//
// An omp session is a file of JSON lines. The first may be the title slot, 256
// bytes that omp writes over when the session is renamed; then comes the
// header, type "session". Every other object is an entry; id and parentId make
// a tree of them. A later line of type "session" is an entry here too.
//
// The slot is kept among the entries, in the order in which it came, and is
// none: it has no id and no place in the tree, and leaf, path, tree, context
// and info do not see it. Layout puts the last one in front of the header, its
// place in omp's own file. A rename that is younger than the slot makes a new
// one there, so that omp sees a name that was given elsewhere.
//
// What this package says of a session is what omp says, except where omp fails
// or hides what is there:
//
//   - A message entry without a message has no part in the context, rules that
//     are no list inject nothing.
//   - Entries that no root leads to, because their parents form a ring, are
//     shown as roots.
//   - A line that is JSON but no object is skipped like one that is no JSON.
//   - LeafAt an entry that is not there is core.ErrNotFound; omp would go on
//     from the last entry.
//   - An id that is not a string is no id.
//   - The ids that migration gives to the entries of an old file are derived
//     from what the file says, so every reading gives the same ones.
//   - A title_change that is younger than slot and header names the session.
//     omp writes it and the slot at once, and does not read it.
//   - A line like a title slot that is not the first of its file counts as one.
//   - A file without a record is no session; omp begins one in it.
//
// And where something is not the session's:
//
//   - The words around a notebook in the context are a prompt of omp's; see
//     Dialect.Notes.
//   - An archive of pictures is shown without the lines that omp draws between
//     its parts, and whole, however large.
//   - References to images in omp's own store stay references.
//   - What omp cuts or leaves out when it writes its file is kept: see
//     Dialect.AsWritten.
//   - A summary counts all messages; omp's listing looks at the first 4 KiB.
//
// Two things are not read as omp reads them: a date that is not ISO 8601 is no
// date, and one without an offset is UTC.
package omp
