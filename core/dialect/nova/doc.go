// Package nova reads and writes sessions of Nova, whose sessions are the
// compressed state of an agent: pointers and counters, never messages.
//
// Nova keeps a session as one JSON object in a file that it rewrites. In the
// log a session is the changes that led to that object, each a line:
//
//	begin     names the session of the lines that follow; after the lines of
//	          another session it makes a fork of that session
//	state     a whole state, from a file or a fork
//	task      a task was run: a turn, and perhaps a decision
//	decision  a decision without a turn
//	artifact  the path of an artifact
//	tokens    tokens that were used
//	update    settings by people: plan, agent, model, tags
//	compress  decisions and artifacts were dropped to save room
//	forked    another session was forked from this one
//	name      a name given by people; Nova has no place for it
//	label     a label of a line; Nova has no place for it
//
// Fold makes the State of these lines. A line that is none of them, or lacks a
// required member, changes nothing. The same is true of a state that the
// session had before, so importing an old copy of a file again reverts nothing.
// A file that Nova continued brings a state that replaces the previous one.
// Sessions are chains: lines have no parent. A merged session continues from
// the state of the second session, because the states do not say what they have
// in common.
//
// Layout is Nova's own file. If an imported file has not changed since, that is
// the file's bytes. Otherwise it is one line with the members in Nova's order.
// Members that Nova's document does not define are kept.
//
// This package behaves like Nova, except:
//
//   - Every change is in the log immediately. Nova saves a session when it is
//     made and when it is compressed, and loses the changes in between.
//   - Compressing to no decisions keeps none; Nova keeps them all.
//   - fork_count counts forks; Nova's code never does.
//   - last_updated is the time of the last change; Nova leaves it at
//     created_at.
//   - An id with a newline at its end is invalid, and an id has at most MaxID
//     characters, so that its file can be created.
//   - The context of a session without a begin or state line, such as one that
//     was made empty and changed by hand, does not name the session.
//   - Artifacts are written in the order of their names.
package nova
