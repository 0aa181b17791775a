// Package stream is core.Log on NATS JetStream. A log is a fixed number of shards,
// each a stream; a session lives in one shard, on a subject of its own. The
// server's check of the last sequence of a subject is the guard against two
// writers.
//
// Beside the records the package reads what the servers know of a shard: how full
// it is, which members are healthy, what was truncated. Presence and Audit are a
// key-value bucket and a stream of their own.
//
// The protocol on top is package engine; the server in the process is package
// embedded.
package stream
