// Package api is the HTTP face of a log, and its client in Go.
//
// A Server answers JSON over HTTP: sessions are made, imported, read, appended
// to, claimed, forked, followed, verified and deleted. A Client makes the same
// calls; sessctl uses nothing else. docs/API.md lists them.
//
// The promises:
//
//   - A write that was answered is durable. One without an answer may be sent
//     again: lines are known by their ids, which come from the caller or from
//     its Idempotency-Key, so they are stored once, by whichever node.
//   - A read shows every write that was answered before it, on any node.
//   - An error is a problem document of RFC 9457 that names what was wrong,
//     where, and what to do next; nothing was changed by it, but for the code
//     "uncertain".
//   - Bodies, lines and counts are bounded; a follower that is slow costs
//     itself, not the writer.
//
// The package knows no rules of its own about sessions: they are core's, and
// the protocol is stream's.
package api
