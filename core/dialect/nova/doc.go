// Package nova reads and writes sessions of Nova, whose sessions are the
// compressed state of an agent: pointers and counters, never messages.
//
// Nova keeps a session as one JSON object in a file that it writes anew. In the
// log a session is the changes that led to that object, each a line:
//
//	begin     which session the lines are of from here on; behind those of
//	          another, the session forks from it
//	state     a whole state, as a file or a fork brought it
//	task      a task was run: a turn, and perhaps a decision
//	decision  a decision without a turn
//	artifact  where an artifact is
//	tokens    tokens that were used
//	update    what people set: plan, agent, model, tags
//	compress  decisions and artifacts were dropped to save room
//	forked    another session was made of this one
//	name      what people call the session; Nova has no place for it
//	label     what people call a line; Nova has no place for it
//
// Fold makes the State of them. A line that is none of these, or lacks what its
// type needs, changes nothing; nor does a state that the session had before, so
// an old copy of a file that is imported again takes nothing back. A file that
// Nova wrote on brings a state that replaces the one before. Sessions are
// chains: lines have no parent. Two sessions merged go on from the second's
// state: what two states have in common nobody has said.
//
// Layout is Nova's own file again. As long as a file that was imported has not
// changed since, that is the file's bytes; otherwise it is one line with the
// members in Nova's order. Members that Nova's document does not name are kept.
//
// What this package does is what Nova does, except:
//
//   - Every change is in the log at once. Nova saves a session when it is made
//     and when it is compressed, and loses what is between.
//   - Compressing to no decisions keeps none; Nova keeps them all.
//   - fork_count counts forks; Nova's code never does.
//   - last_updated is the time of the last change; Nova leaves it at created_at.
//   - An id with a newline behind it is none, and an id has at most MaxID
//     characters, so that its file can be made.
//   - The context of a session without a begin or state line, as one is that
//     was made empty and changed by hand, does not name the session.
//   - Artifacts are written in the order of their names.
package nova
