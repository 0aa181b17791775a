// Package stream is core.Log on NATS JetStream.
//
// A log is a fixed number of shards, each a stream; a session lives in one shard,
// on a separate subject. The server's check of the last sequence of a subject is
// the guard between writers. docs/FORMAT.md describes the streams and messages.
//
// # Reads
//
// Reads of one record ask the stream's leader. Reads of many records are served by
// any replica. A replica with a corrupt disk may lack a record permanently; the
// next record names its predecessor, so the gap is noticed and filled from the
// leader. A leader that lacks a record that another replica has is made to step
// down, at most once a minute.
//
// A barrier is an empty message outside of all sessions. Once acknowledged, it
// proves that the leader has a quorum.
//
// # Following
//
// A follower subscribes to live messages, waits until the server has the
// subscription, reads what is stored, and then takes live messages. Each names its
// predecessor; a gap is filled by reading, and after three silent seconds the
// leader is asked. There is no JetStream consumer per follower, because a stream
// supports few. The queue of a follower is bounded: if it overflows, the follower
// reads what it missed, and no writer waits.
//
// # Capacity
//
// From 90 % on, records that add entries are rejected, from 95 % on barriers. The
// rest is reserved for claims, checkpoints and deletions. Fullness is what the
// leader said seconds ago plus what was stored since, and the free space of an
// embedded server's disk. No append waits for it.
//
// # Other data
//
// Presence says which writers and nodes are active, in a key-value bucket in the
// brokers' memory. It is a hint. Members derives from it which nodes share the
// work. Audit is a stream of what operators did, from which nothing can be deleted.
//
// The streams of a new log begin at a sequence derived from the time, so that a
// restored log does not reuse sequences that writers of the lost log know. Stream
// 00 is created last: its presence means that the log is complete.
//
// The protocol on top is package engine; the server in the process is package
// embedded.
package stream
