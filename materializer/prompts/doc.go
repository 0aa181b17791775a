// Package prompts keeps the prompts that people gave to agents, in all sessions
// of a log, where they can be searched.
//
// A History is a SQLite file on the node's own disk, with a full-text index. It
// is told of changed sessions (Note), reads them by and by on a goroutine of its
// own (Run), and answers queries (Search).
//
// The promises:
//
//   - The history is made of the log and nothing else: every node's gives the
//     same answers, and a file that is lost, damaged or of another version is
//     made again.
//   - Nobody waits for it but those who ask it something. Note never blocks, and
//     takes memory for each changed session, not for each record.
//   - What a session says again in direct succession is kept once. A prompt that
//     forks of a session share is found once.
//   - When an entry is replaced, so is its prompt. Sessions in the trash are not
//     found, until they are taken out; those that were erased leave nothing in
//     the file.
//   - Queries are words. No query is a syntax error.
//
// Of a prompt that is longer than 64 KiB the beginning is kept. What only shows
// an image is no prompt. Words are those of Unicode; in scripts without blanks
// between them, each character is taken for one.
//
// The package does not know what agents' lines look like: dialects do.
package prompts
