// Package backup keeps the sessions of a log in a separate place, from which they
// can be restored without that log, its servers or its object store.
//
// The nouns:
//
//   - A Repo is a place for backups: a blobstore.Bucket with objects and runs.
//   - An object is bytes under their SHA-256: a piece of a session's records, a
//     snapshot as a node stored it, a blob, or a list of blobs.
//   - A Run is one backup: the sessions of the log, where each ended, and the
//     digests and sizes of their objects. The name of a run contains the digest of
//     its bytes.
//   - A History is one session, read from its objects and verified.
//
// The guarantees:
//
//   - Every byte is checked against a digest, and every record against the one
//     before it, both when a backup is made and whenever it is read. An error names
//     the corrupt object.
//   - A run that exists is complete, because it is written last. The next backup
//     reuses the objects of an interrupted one, after it compared their bytes.
//   - A session that did not change since the last run is not read. Which sessions
//     changed is asked of the streams, up to a barrier, not of the directory.
//   - A backup never replaces or deletes objects, except for the lock and the
//     progress of an unfinished run. Only Prune deletes. A prune and a backup
//     exclude each other: each writes a note before it looks for the other's.
//   - A restored session has the same records with the same chains; otherwise
//     Restore fails with the reason. The log's name is in every chain, so a log of
//     another name is refused; import sessions there instead. A session that was
//     erased after the backup stays erased unless the caller decides otherwise.
//
// Taker copies from a node to a Repo, Restorer from a Repo to a node, and Verify
// needs only the Repo. All of them use the node's HTTP interface, so no keys of
// NATS or of the node's object store are needed, and the node needs none of the
// Repo. docs/FORMAT.md describes the stored bytes.
package backup
