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
//
// # Who does what
//
// Every node follows every shard for its rows. Snapshots, truncation and deletion
// of old snapshots are done by the owner of a shard: the active node with the
// highest hash of its name and the shard's number. Nodes do not agree on it; for a
// moment a shard may have two owners or none, and the sequence check makes that
// harmless. If the active nodes are unknown for four seconds, every node owns every
// shard.
//
// # When a snapshot is due
//
// A session gets a snapshot when the records since the last one exceed 1 MiB and
// a third of that snapshot, when it has been idle for 30 seconds, or when it was
// closed. A whole snapshot is written only while all earlier ones have at most
// three times its size, so all snapshots of a session together have at most four
// times its size.
//
// Truncation may need a checkpoint earlier. Then the manifest names the parts of
// the previous snapshot and what changed since: up to 128 KiB of lines in the
// manifest itself, more as an object, a change. A new change absorbs earlier ones
// that are not at least eleven times as large, and a manifest names at most 48
// parts. So bytes are written again only into something at least twelve times as
// large. The bytes that a reader gets, and their digest, are those of a whole
// snapshot.
//
// Objects are compressed in frames of 256 KiB, unpacked again and compared before
// they are stored.
//
// # Truncation
//
// If a shard exceeds its limit, its messages are surveyed without bodies. A session
// needs the records after what its last checkpoint covers; the rest is garbage. If
// there is more garbage than needed data, the front of the shard that holds half of
// the garbage is dropped, after package engine proved that nothing in it is needed.
// What is needed is stored again, at most twice what is freed. A session that
// prevents truncation is named in the log and in the status, and tried again with
// exponential backoff up to six hours.
//
// # Lost records, unavailable stores
//
// A follower checks every five seconds that its shard still has the last record
// that it processed. If not, the rows of the shard are dropped and it is read
// again, and package engine repairs the sessions in memory. A session whose
// snapshot or body is in a store that does not answer is deferred, so that the
// others of its shard do not wait.
package materializer
