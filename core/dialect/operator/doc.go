// Package operator reads and writes sessions of Operator, by the rules of its
// SessionManager.
//
// An Operator session is a file of JSON lines with names in snake case and
// times as seconds since 1970. The header has the type "session", or
// "session_header" as Operator's document spells it; every other object is an
// entry, and id and parent_id make a tree of them. The leaf is the last entry,
// or where that is a leaf entry, what it points at. A later header is kept in
// its place and is no entry.
//
// core.Entry.Time and core.Header.Time hold the number as it is written. Fill
// and NewHeader take ISO 8601 and write the number; a number they take as it
// is, so that what was read can be written again.
//
// Operator leaves out of a session the lines that it cannot read: those of an
// unknown type and those without a member that their type needs, as Check has
// it. Here such a line is kept byte for byte, stands in the tree and holds a
// path together, and otherwise says nothing: it is no leaf as long as there is
// another, and has no part in context, name, labels, channel and summary.
//
// What this package says of a session is what Operator says, except where
// Operator fails or hides what is there:
//
//   - Lines end at "\n" and nowhere else. Operator also ends them at U+0085,
//     U+2028 and U+2029, and so loses messages that hold one.
//   - A parent that Operator could not read does not cut the path.
//   - Of several entries with one id, a path takes the last one that can be
//     read. The tree has each of them once.
//   - Entries whose parents form a ring are shown, the oldest of the ring as a
//     root.
//   - A header spelled as in the document is a header, and a compaction
//     without tokens_before is one.
//   - A header without an id is none: Operator invents another id each time it
//     reads the file.
//   - A byte order mark at the beginning of a file is dropped.
//   - LeafAt an entry that is not there is core.ErrNotFound; Operator answers
//     with an empty branch. The default leaf is before every entry where a
//     leaf entry points at what is not there.
//   - Messages in a context are as they were stored, with members that
//     Operator does not know and without defaults that they lack.
//   - The time in a file's name is that of the header, in UTC; Operator takes
//     its own clock and time zone.
package operator
