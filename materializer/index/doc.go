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
//   - Changed sessions are in memory until they are written: ten seconds after the
//     last write, one if a client follows changes, and before a query answers. Other
//     sessions take no memory, however many there are.
//   - A page of a listing ends at a sort key and an id, so rows that change or
//     disappear between two pages do not shift others.
//   - Every change of a row has a number. A listing returns the last one, and
//     Changes continues after it without a gap.
//   - A replaced entry leaves no text, an erased session none at all: deleted
//     content is overwritten, in the file and in its write-ahead log. For text that
//     was already left out because its session has more than is kept, that takes a
//     second for each 4 MB of the full-text table.
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
// # Listings
//
// The columns by which sessions are filtered and sorted are in a narrow table; the
// rows, as JSON, are in another that is read only for the sessions of the page.
// Each sort order has an index with all columns that filters use.
//
// A listing is answered in one of two ways: along the index of its order until the
// page is full, or by collecting the sessions that match one condition and sorting
// them. SQLite has no statistics to choose, so the package does: it counts each
// condition's matches, only as far as that way could still be cheaper, and takes
// the cheapest. A part of a name or of a first message is found by trigrams; the
// rarest four of them are looked up and the matches compared with the text.
//
// # Search
//
// The text of an entry is a document whose number begins with its time. FTS5 keeps
// documents in the order of their numbers, so the newest matches come first without
// a sort, and a time range or the next page is a number to begin at. The session,
// dialect, directories and tags of a document are words of a second column, so FTS5
// itself narrows by them.
//
// If a session begins with the entries that were already indexed, only new ones are
// added; otherwise its text is deleted and indexed again. No record kinds are
// interpreted, so none can be missed.
//
// # Failures
//
// A corrupt file is replaced, and the materializer reads all shards again. While
// the file cannot be written, changes wait in memory within the same limits; beyond
// them they are dropped, the floors stay, and the next start reads from there.
// Snapshots and the log never wait for the directory.
//
// The package does not depend on the format of agents' lines: dialects parse them.
package index
