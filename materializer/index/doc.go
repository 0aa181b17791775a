// Package index is the directory of a log: a row for each session, the text of all
// sessions, and the prompts that people gave, in one SQLite file on the node's own
// disk.
//
// Guarantees:
//
//   - The file is derived from the log alone. A file that is lost, corrupt, or of
//     another version or log is rebuilt.
//   - Rows, text, prompts and floors are written in one transaction. After a crash
//     the file may lag, but it is consistent.
//   - Changed sessions are in memory until they are written, within limits. Other
//     sessions take no memory, however many there are.
//   - A page of a listing ends at a sort key and an id, so rows that change or
//     disappear between two pages do not shift others.
//   - Every change of a row has a number. A listing returns the last one, and
//     Changes continues after it without a gap.
//   - A replaced entry leaves no text, an erased session none at all: deleted
//     content is overwritten, in the file and in its write-ahead log.
//   - No query is a syntax error of FTS5.
//
// The text kept of a session is bounded: 4 KiB of an entry, 1 KiB of a tool's
// output, and the newest 256 KiB in total. Images, base64 and thoughts are left
// out. Prompts are kept longer, up to 64 KiB each and for the whole session: a
// prompt that repeats the one before it is kept once, and a prompt that forks share
// is found once. Sessions in the trash have none.
//
// Words are those of Unicode. In scripts without spaces each letter is a word. Case
// and accents do not matter.
//
// The package does not depend on the format of agents' lines: dialects parse them.
package index
