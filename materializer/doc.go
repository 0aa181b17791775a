// Package materializer derives from the log what can be derived again: sessions in
// memory, snapshots in object storage, and the rows of the directory.
//
// A Materializer follows the shards of a log. When a session has changed, it brings
// the session in the Cache up to date and renews its Row in the Directory. When the
// session has grown enough, is idle, or was closed, it writes a snapshot and the
// checkpoint that names it. It also truncates shards and deletes superseded
// snapshots.
//
// Guarantees:
//
//   - The log is the only truth. Rows, floors and snapshots can be lost or
//     duplicated, which costs only the work to make them again.
//   - The plain bytes of a snapshot are the same on every node.
//   - A checkpoint is stored only after its snapshot is durable, and through the
//     same sequence check as every other record.
//   - Memory is bounded by the cache's limit and the number of sessions with
//     pending work.
package materializer
