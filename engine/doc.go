// Package engine is the protocol of Sesslog over any log: it loads sessions,
// appends to them, claims heads, forks, imports, restores and repairs.
//
// A Session folds its records into a core.State. A write builds one record from
// that state, appends it behind the session's last record, and reads on if
// another record came first. The log's check of the last position is the only
// guard between writers: there are no locks and no leases.
//
// The promises:
//
//   - An append is one record: all of its lines are stored, or none.
//   - The same lines sent again are stored once, even if the first answer was
//     lost.
//   - Of two writers at one position at most one succeeds. A writer whose head was
//     taken over gets core.FencedError and stores nothing more there.
//   - Lines that arrive while a record is in flight share the next record. A line
//     that fails its checks fails alone.
//
// The package writes no snapshots, keeps no directory, and does not depend on NATS
// or HTTP: package stream is the log on JetStream, materializer writes snapshots,
// and api serves sessions.
package engine
