// Package nova has the calls of Nova's session manager, over a session.Log.
//
// Every change is one append, made from the session's current state. If another
// writer changed the session first, the change is made again from the new
// state. No change is lost and none waits to be saved. States that methods
// return are copies.
//
// A session that this program has not opened is loaded from the log. ByTag,
// Held and CleanupOld only know the sessions that this program made, opened or
// forked; sessctl rm --older-than covers the rest of the log. Cleanup moves sessions to
// the trash, with the reason; sessctl rm --undo restores them.
//
// Log messages contain ids and counts, never what a session says.
package nova
