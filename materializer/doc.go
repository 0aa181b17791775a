// Package materializer makes of the log what can be made again: sessions in
// memory, snapshots in object storage, and the directory that listings read.
//
// A Materializer watches the shards of a log. When a session has changed, it
// brings the session in the Cache up to date, renews its Row in the Directory,
// and writes a snapshot and the checkpoint that names it when the session's
// tail has grown enough, when it fell idle, or when it was closed.
//
// The promises:
//
//   - Nothing here is the truth. Rows, floors and snapshots can be lost or
//     doubled and cost only the work of making them anew.
//   - The plain bytes of a snapshot are the same from every node.
//   - A checkpoint is stored only when its snapshot is durable, and through the
//     same sequence check as every other record.
//   - Memory is bounded by the cache's limit and the sessions with work left.
//
// The package does not truncate streams and deletes no object.
package materializer
