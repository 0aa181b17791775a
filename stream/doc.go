// Package stream keeps sessions in NATS JetStream.
//
// It has two layers. A Log is a core.Log: records in, records out, with the
// server's own sequence check as the one guard against two writers. A Session
// is the protocol on top of any core.Log: it loads a session from its base,
// appends with one record in flight, claims heads, and finds out what became
// of a record whose answer was lost.
//
// The promises:
//
//   - An append is one record: all of its lines are stored, or none.
//   - The same lines again are stored once, whatever happened to the answer.
//   - Of two writers at one place at most one succeeds, and a writer whose head
//     was taken over gets core.FencedError and stores nothing more there.
//   - Lines that arrive while a record is in flight share the next one; a line
//     that fails its checks fails alone.
//
// The package writes no snapshots, keeps no directory and knows no HTTP: see
// materializer and api. The server itself is package embedded.
package stream
