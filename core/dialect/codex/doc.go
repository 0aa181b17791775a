// Package codex reads and writes sessions of the Codex CLI, by the rules of its
// version 0.169.0.
//
// Codex keeps a thread as a file of JSON lines, a rollout, below
// sessions/YYYY/MM/DD of its home. Each line has a type and a payload. The first
// is the session_meta. A response_item is an item of a model's input; events and
// other types are for Codex and people. What Codex sends when it resumes is the
// items in the order of the lines, from the last compaction on.
//
// A fork and a revert do not copy lines: their file names a base, which is
// another file up to a byte. A revert is a second file of the same thread, and
// the newest file of a thread is where it continues.
//
// In the log, a session is a thread with all it needs: the lines of the files
// that it continues, up to where it does; the lines of its own files, also those
// that were reverted; and, aside, those of its sub-agents. Lines are in
// envelopes, byte for byte. Entries that were made in the log are lines without
// an envelope; Unpack and Layout write them as lines of the newest file. A name
// and a label are in the log only, because Codex keeps names in an index. The name
// that an imported index has for a thread is its name in the log.
//
// A session that was made in the log, such as a fork or a converted one, has no
// file. Unpack makes one of the legacy mode, which holds the whole history.
//
// This package gives the same results as Codex, except where Codex fails or
// hides data:
//
//   - If a file that a thread continues is missing, the history begins with the
//     thread's own lines. Codex refuses the thread.
//   - A base that reaches past the end of its file is the whole file.
//   - Compressed rollouts are stored, and written, without compression. Codex
//     reads both, and decompresses a thread when it resumes it.
//   - A rollout is found by its name only: rollout-<time>-<id>.jsonl.
//
// Indexes, locks and prompt histories of Codex are not part of a session. Codex
// makes them again, and a copy of its database leads it to the wrong files.
package codex
