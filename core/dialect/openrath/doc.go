// Package openrath reads and writes sessions of OpenRath, by the rules of its
// rath.session.
//
// An OpenRath session is a file of JSON lines: a header, then chunks, then a
// trailer once the session is closed. A chunk has one of the four kinds system,
// user, assistant and tool_result; the chunks are a chain in the order of the
// lines. The trailer says when the session was closed and what it cost. The
// header names the sessions that this one came from, and how.
//
// Here a chunk is an entry whose type is its kind, and a trailer is an entry
// aside. OpenRath gives chunks no ids. An entry's id is the member "id" of its
// line, which Fill adds and OpenRath ignores, or else the text of "index".
//
// In addition to core.Dialect, the package has values and pure functions for
// programs that work with such sessions: Chunk and Table, Session with Fork,
// Detach and Merge, Load and Resume, LineageRow and Export, Meta, List and
// Expired.
//
// This package gives the same results as OpenRath, except where OpenRath fails
// or hides data:
//
//   - Lines end only at "\n". OpenRath also ends them at U+0085, U+2028 and
//     U+2029, and then cannot load what it wrote.
//   - File skips and reports a line that makes OpenRath refuse the whole file:
//     one that is not a JSON object, a chunk of another kind, a second header.
//     Load refuses the file as OpenRath does. Entry refuses such a line, too,
//     so that no session gets a line that its agent could not load.
//   - A byte order mark at the beginning of a file is dropped.
//   - An id is part of a file's name only if it is a UUID.
//   - NaN and Infinity, which Python writes, are not JSON: their lines are
//     bad.
//   - One unreadable file does not make a listing fail.
//
// Sandboxes are named, never opened: counting the sessions that hold one, and
// closing it, are up to the process that runs it. Files, locks and registries
// are not part of this package.
package openrath
