// Package openrath reads and writes sessions of OpenRath, by the rules of its
// rath.session.
//
// An OpenRath session is a file of JSON lines: a header, then chunks, then a
// trailer once the session is closed. A chunk is what one of the four kinds
// system, user, assistant and tool_result says; the chunks are a chain in the
// order of the lines. The trailer says when the session was closed and what it
// cost. The header names the sessions that this one came from, and how.
//
// Here a chunk is an entry whose type is its kind, and a trailer an entry
// aside. OpenRath gives chunks no ids. An entry's id is the member "id" of its
// line, which Fill adds and OpenRath ignores; else the text of "index".
//
// Beside core.Dialect there are, as values and pure functions, what a program
// does with such sessions: Chunk and Table, Session with Fork, Detach and
// Merge, Load and Resume, LineageRow and Export, Meta, List and Expired.
//
// What this package says of a session is what OpenRath says, except where
// OpenRath fails or hides what is there:
//
//   - Lines end at "\n" and nowhere else. OpenRath also ends them at U+0085,
//     U+2028 and U+2029, and then cannot load what it wrote.
//   - File skips and reports a line that makes OpenRath refuse the whole file:
//     what is no JSON or no object, a chunk of another kind, a second header.
//     Load refuses it as OpenRath does. Entry refuses such a line too, so that
//     nothing gets into a session that its agent could not load.
//   - A byte order mark at the beginning of a file is dropped.
//   - An id goes into a file's name only where it is a UUID.
//   - NaN and Infinity, which Python writes, are no JSON: their lines are bad.
//   - One unreadable file does not spoil a listing.
//
// Sandboxes are named, never opened: how many sessions hold one, and closing
// it, are for the process that runs it. Files, locks and registries are no part
// of this package.
package openrath
