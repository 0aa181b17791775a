// Package omp reads and writes sessions of omp (oh-my-pi), by the rules of its
// version 18.3.4.
//
// An omp session is a file of JSON lines. The first may be the title slot, 256
// bytes that omp overwrites when the session is renamed, followed by the
// header, type "session". Every other object is an entry; id and parentId form
// a tree. A later line of type "session" is an entry here, too.
//
// The slot is stored among the entries, in the order in which it arrived, but
// is none: it has no id and no place in the tree, and leaf, path, tree, context
// and info ignore it. Layout puts the last one before the header, where omp's
// own file has it. A rename that is newer than the slot makes a new slot there,
// so that omp sees a name that was given elsewhere.
//
// This package gives the same results as omp, except where omp fails or hides
// data:
//
//   - A message entry without a message is not part of the context. Rules that
//     are not a list inject nothing.
//   - Entries that no root leads to, because their parents form a cycle, are
//     shown as roots.
//   - A line that is JSON but not an object is skipped like one that is not
//     JSON.
//   - LeafAt an entry that does not exist is core.ErrNotFound; omp would
//     continue from the last entry.
//   - An id that is not a string is not an id.
//   - The ids that migration gives to the entries of an old file are derived
//     from its content, so every reading gives the same ids.
//   - A title_change that is newer than slot and header names the session. omp
//     writes it together with the slot, and does not read it.
//   - A line like a title slot that is not the first of its file counts as
//     one.
//   - A file without a record is not a session; omp begins one in it.
//
// It also differs where something is not part of the session:
//
//   - The text around a notebook in the context is a prompt of omp's; see
//     Dialect.Notes.
//   - An archive of pictures is shown without the lines that omp draws between
//     its parts, and completely, however large.
//   - References to images in omp's own store stay references.
//   - What omp truncates or leaves out when it writes its file is kept: see
//     Dialect.AsWritten.
//   - A summary counts all messages; omp's listing looks at the first 4 KiB.
//
// Two things are read differently: a date that is not ISO 8601 is not a date,
// and one without an offset is UTC.
package omp
