// Package novasessions holds sessions of Nova in a log, with the calls that
// Nova's own session manager has.
//
// Every change is one append, made of the state as it is then: where somebody
// else was faster, the change is made anew of what they left. No change is
// lost, and none waits to be saved. What a caller gets is a copy.
//
// A session that nobody here has opened is looked for in the log. The listing
// by tag and the cleanup know the sessions that are held here, which are those
// that were made, opened or forked here; the log's other sessions are for
// sessctl prune. What cleanup drops goes to the trash, with the reason, and can
// be taken out again.
//
// What is logged are ids and counts, never what a session says.
package novasessions
