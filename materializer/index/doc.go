// Package index is the directory of a log: a row for each session, and the text
// of all sessions, in one SQLite file on the node's own disk.
//
// The promises:
//
//   - It is made of the log and nothing else. A file that is lost, damaged, or of
//     another version or log is made again.
//   - Rows, text and the floors that speak for them are written in one
//     transaction: after a crash the file knows less, never something else.
//   - It keeps what has changed in memory until it is written, within bounds, and
//     nothing for each session. A million rows take no more memory than ten.
//   - Where a page of a listing ends is said by what it was ordered by and an id,
//     so rows that change or go away in between move no others.
//   - Every change of a row has a number. A listing says which was the last, and
//     Changes goes on from there: nothing lies between the two.
//   - An entry that was replaced leaves no text, and an erased session none at
//     all: what is deleted is overwritten, in the file and in its write-ahead log.
//   - No query is a syntax error of the engine's.
//
// What is kept of a session's text is bounded: 4 KiB of an entry, 1 KiB of a
// tool's output, and of all together the newest 256 KiB. Images, base64 and
// thoughts are left out. The package does not know what agents' lines look like:
// dialects do.
package index
