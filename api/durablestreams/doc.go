// Package durablestreams serves the durable-streams HTTP protocol from the log.
//
// A stream is a session of dialect bytestream: creating it is the session's open record,
// each append is one entry, and closing it is one more. Appends that arrive together share
// a record. An append is decided from the state that the record follows, so two nodes never
// accept the same sequence number of a producer: the later writer reads the other's record
// and decides again.
//
// The package stores nothing else. What it derives from sessions, such as the offsets
// of their entries, is a cache that can be dropped at any time.
//
// A stream that is deleted leaves its session in the trash. If its path is used again, the
// new stream is another session, whose id ends in the number of its generation.
//
// docs/DURABLE-STREAMS.md describes the protocol's mapping for users.
package durablestreams
