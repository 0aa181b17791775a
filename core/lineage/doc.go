// Package lineage describes which session came from which, and how.
//
// A Stamp is what one session says about its origin: a Kind and its parents in
// order. It comes from what the log recorded when the session was made, or
// otherwise from the header that the agent wrote. A Node is a session with its
// Stamp, and a Graph is a set of them. A Row is a Node in the form in which
// OpenRath exports one, so that OpenRath's tools can read it.
//
// A Graph need not be consistent: any client can write headers, so sessions may
// name themselves, each other, or sessions that do not exist. Every method
// terminates, in time linear in the size of the graph. Validate reports
// inconsistencies.
//
// The package draws nothing and changes no session.
package lineage
