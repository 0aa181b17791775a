// Package engine is the protocol of Sesslog over any log: it loads sessions,
// appends to them, claims heads, forks, imports, restores and repairs.
//
// A Session folds its records into a core.State. A write builds one record from
// that state, appends it after the session's last record, and reads on if another
// record came first. The log's check of the last position is the only guard between
// writers: there are no locks and no leases.
//
// The guarantees:
//
//   - An append is one record: all of its lines are stored, or none.
//   - The same lines sent again are stored once, even if the first answer was lost.
//   - Of two writers at one position at most one succeeds. A writer whose head was
//     taken over gets core.FencedError and stores nothing more there.
//   - Lines that arrive while a record is in flight share the next record. A line
//     that fails its checks fails alone.
//
// # Appends and deadlines
//
// docs/ARCHITECTURE.md follows one append through all packages and lists its
// retries. A record that cannot have been stored is given up after 12 seconds, or
// shortly before the caller's deadline; the error is core.ErrUnavailable. A record
// whose answer was lost is retried for 30 seconds; then the error is
// core.ErrUncertain, and repeating the request is safe. Each session has a bounded
// queue, and all queues together have a bound, too.
//
// If another writer came first, the caller decides: the lines are returned with
// what came in between, appended after it (rebase), or stored on a separate head
// (branch). The name of that head is derived from the ids of the lines, so a retry
// does not make another one.
//
// # Loading
//
// A session is loaded from the leader's last record, the record at its base, the
// snapshot that the base names, and the records after what the snapshot covers.
// Size, digest, number and chain are checked. Any replica may serve the records;
// one that lags or lacks some is asked again, and then the leader is. Only the last
// record ends the reading, not an empty answer.
//
// If the base or the snapshot cannot be used, the session's subject is read from
// its first record and the latest base that works is taken. If none does, three
// times, the session is corrupt.
//
// # Strict reads
//
// The last record known to a leader is the true one only while it leads. A leader
// that was cut off may not notice for 20 seconds. A strict read therefore stores a
// barrier that expects the session's last record; a leader without a quorum cannot
// acknowledge it. Concurrent strict reads share a barrier. A rejection that depends
// on what other writers did is proved in the same way before the caller gets it.
//
// # Lost tails and orphans
//
// Brokers may lose the end of what they acknowledged: they flush late and lose
// power, or a disk is restored from an older copy. JetStream then assigns the same
// sequences to other records. Only the chain shows it.
//
// An open session keeps its latest records in memory. If the log ends before them,
// or has other records in their place, the session is loaded again and the missing
// records are stored again through the normal sequence check:
//
//   - If the log ends with a record of the session, the missing ones are stored
//     unchanged, except for the base. Their chains are the same, so several nodes
//     may do this.
//   - If another writer has continued, the missing lines are appended to a separate
//     head, "stray-<writer>". A lost claim stays lost.
//
// A writer that has not noticed the loss may store a record that does not fit the
// chain: an orphan. Readers that begin at a base skip it with a warning. The
// materializer recovers its lines to such a head and then writes a checkpoint.
//
// Because a checkpoint allows its records to be truncated, the records since the
// previous checkpoint are read again and compared before it is stored. If another
// record precedes it, that is compared, too.
//
// # Truncation
//
// The prefix of a shard may be dropped only if no session needs it. Every session
// in the prefix is loaded from the leader with its snapshot, its chain is proved up
// to the last record, and it gets a checkpoint if its base is in the prefix. Erase
// records are stored again. If brokers flush late, all of that is proved a second
// time after twice the flush interval. A session that cannot be moved ends the
// prefix.
//
// # Restore
//
// Restore folds all records of a session on its snapshot before it stores one. Then
// it stores those that the log lacks, with unchanged chains. It may be repeated,
// run twice at once, and run on a log in use. If the session and the log diverged,
// nothing is stored.
//
// The package writes no snapshots, keeps no directory, and does not depend on NATS
// or HTTP: package stream is the log on JetStream, materializer writes snapshots,
// and api/server serves sessions.
package engine
