// Package operator reads and writes sessions of Operator, by the rules of its
// SessionManager.
//
// An Operator session is a file of JSON lines with names in snake case and
// times as seconds since 1970. The header has the type "session", or
// "session_header" as in Operator's document. Every other object is an entry;
// id and parent_id form a tree. The leaf is the last entry or, if that is a
// leaf entry, the entry it points to. A later header keeps its place but is not
// an entry.
//
// core.Entry.Time and core.Header.Time hold the number as it is written. Fill
// and NewHeader accept ISO 8601 and write the number. They also accept a number
// and write it unchanged, so that a time that was read can be written again.
//
// Operator ignores the lines of a session that it cannot read: those of an
// unknown type and those without a member that their type requires, as Check
// defines. Here such a line is kept byte for byte, and is part of the tree and
// of paths. Otherwise it has no effect: it is not the leaf if there is another
// entry, and has no part in context, name, labels, channel and summary.
//
// This package gives the same results as Operator, except where Operator fails
// or hides data:
//
//   - Lines end only at "\n". Operator also ends them at U+0085, U+2028 and
//     U+2029, and so loses messages that contain one.
//   - A parent that Operator could not read does not end the path.
//   - Of several entries with one id, a path uses the last one that can be
//     read. The tree has each of them once.
//   - Entries whose parents form a cycle are shown, with the oldest of them as
//     a root.
//   - A header spelled as in the document is a header, and a compaction
//     without tokens_before is a compaction.
//   - A header without an id is not a header: Operator would make a new id
//     each time it reads the file.
//   - A byte order mark at the beginning of a file is dropped.
//   - LeafAt an entry that does not exist is core.ErrNotFound; Operator
//     returns an empty branch. If a leaf entry points to an entry that does
//     not exist, the default leaf is before every entry.
//   - Messages in a context are as they were stored, with members that
//     Operator does not know and without defaults for missing ones.
//   - The time in a file's name is that of the header, in UTC; Operator uses
//     its own clock and time zone.
package operator
