// Package envelope stores what an agent keeps in several files as the entries of
// one session, whatever the bytes are.
//
// An envelope is an entry of ours that holds one line of a file, or a piece of a
// line or of a file that has no lines. It gives the line what the log requires
// of an entry: an id, and a parent if it has a place in the tree. A dialect
// stores a line of its agent as it is if that line has both, and in an envelope
// otherwise. The order of the lines of a file is that of the entries.
//
// A session of such a dialect begins with a header of ours, because the agent's
// files have none that names the session for all of them.
package envelope
