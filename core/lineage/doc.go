// Package lineage says which session came from which, and how.
//
// A Stamp is what one session tells of its origin: a Kind and its parents in
// order. It is read from what the log recorded when the session was made or,
// where that says nothing, from the header that the agent wrote. A Node is a
// session with its Stamp, a Graph is many of them. A Row is a Node in the shape
// in which OpenRath exports one, so that its tools read ours.
//
// The graph makes no promise that it is one: headers are written by anybody, so
// sessions may name themselves, each other, or sessions that are nowhere. No
// question about a graph runs for ever, and all of them are linear in its size.
// Validate says what is wrong with it.
//
// The package draws nothing, and changes no session.
package lineage
