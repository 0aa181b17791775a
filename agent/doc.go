// Package agent runs unmodified agents on a host with their sessions in the log.
//
//   - [Run] starts an agent in the user's terminal, finds the session files that it
//     writes, and copies their lines to the log while it runs.
//   - [Watch] follows the session files of all agents on a host.
//   - [Resume] claims a head of a session and writes the file from which the
//     session's agent continues it on this host.
//
// Package [github.com/sesslog/sesslog/agent/follow] copies files to the log;
// package [github.com/sesslog/sesslog/agent/process] handles processes.
//
// # Run
//
// No agent says which file it writes. Its files are those of the known agents that
// are new or changed since the start and whose header names a directory in which it
// works, those that its arguments name, and on Linux those that one of its
// processes has open for writing. A session in the database of opencode counts as a
// file.
//
// The head is claimed before the first append of a run, so no line is in flight
// without a claim. The claim's writer is chosen and saved first: if the process is
// killed, the next run recognizes the claim as its own. Each file has a directory
// with the follower's state, a lock, and a note while the log may lack lines. A run
// first completes what the notes of earlier runs name, without claiming anything, and
// releases their claims if their agents have ended.
//
// # Resume
//
// A head is taken over only from a writer that seems inactive, or if the caller
// insists. Activity is judged by the writer's heartbeat and, for claims of this
// host, by the agent's process. The file is staged before the claim, so no writer
// is fenced for a file that cannot be written; if a record was stored in between,
// it is fetched again. It never contains a line that the log lacks, because that
// line would be imported as a new one. Lines that only an existing file has are
// imported first.
//
// Errors carry the next command to type (package internal/hint). Those that wrap
// [ErrUsage] are about the caller's options.
package agent
