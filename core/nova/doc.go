// Package nova reads and writes sessions of Nova.
//
// A Nova session is no talk but a State: a plan, the last decisions, where the
// artifacts are, counters and tags. Nova keeps it as one JSON object in
// <session_id>.json and writes that file anew. In the log a session is a header
// and a chain of small changes (a decision, an artifact, tokens, turns, a task,
// an update, a compression, a fork), which Fold makes the state of. A change
// says what is added and not what comes out, so changes of several writers
// never undo each other: whatever order the log gives them, each counts.
//
// File brings in a whole state as one change, with the text of the file, and
// Layout gives that text again as long as nothing was changed since; after a
// change it gives the state as Nova's to_dict does.
//
// What this package does otherwise than the printed code of Nova:
//
//   - An id has 128 characters at most, and no newline behind it.
//   - Compressing to 0 decisions keeps none; the code keeps all.
//   - A fork counts in its parent's fork_count, as the document has it.
//   - last_updated is the time of the last change. The code never changes it.
//   - Artifacts and tags have an order, the one they came in.
//   - An optional text that is empty is left out like one that is absent.
//   - Members that Nova's document does not name are kept behind the others.
//
// The package keeps no sessions open and knows no clock: see stream/novasessions.
package nova
