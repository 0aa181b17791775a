// Package api defines the HTTP interface of a log: the types of requests and
// responses, the problem documents, and the OpenAPI description.
//
// Package server answers the requests, package client sends them, and package
// access decides who may send which. docs/API.md explains the interface;
// docs/API-REFERENCE.md lists every call and is generated.
//
// The guarantees of the interface:
//
//   - A write that was answered is durable. One without an answer may be repeated,
//     through any node: lines are identified by their ids, which come from the
//     caller or from its Idempotency-Key, so they are stored once.
//   - A read shows every write that was answered before it, on any node. A leader
//     that was cut off may break that for up to 20 seconds; strict=true or a cursor
//     (seen=) does not allow it.
//   - An error is a problem document of RFC 9457 that names what was wrong, where,
//     and what to do next. Nothing was changed, unless the code is "uncertain".
//   - Bodies, lines and counts are bounded. A slow follower delays no writer.
//
// A large file is sent in parts: each is stored as a blob, and a list of their
// digests takes the place of the body. So an interrupted transfer continues at any
// node, and nothing has to be kept for it.
package api
