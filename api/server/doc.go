// Package server serves a log over HTTP.
//
// A Server routes each call to a handler that parses the request, calls a Session
// or another part of the node, and renders the answer. Rules about sessions are
// those of core and engine; the server adds rights, limits and representation.
//
// # A new call
//
// Add its types to package api, a row to the table in routes.go,
// and its description to the table in describe_test.go; then run the test with
// -update. A route without a scope is for administrators only
// and fails a test. A call whose path names a session is limited to the caller's
// prefix before it is known whether the session exists. Handlers of calls that name
// sessions elsewhere check the caller themselves.
//
// # Limits
//
// Whatever a caller makes the node hold is bounded: requests, bodies, followers,
// heavy work, and appends in queues. A request waits up to ten seconds for a slot
// and is then rejected with core.ErrUnavailable; the status shows each limit. Each
// piece of a response must be accepted within a minute. The body of a large record
// is in memory once, however many followers it is sent to.
//
// # Records of what callers did
//
// What operators do (erase, redact, hold, tokens, restore ...) is written to the
// audit stream, before something that cannot be undone and after it. Each such call
// has its act in the table of routes, and a test performs each and looks for its
// record. Reads and writes are lines of the node's log if logging.access is set.
// Neither contains what sessions say.
//
// # Dry runs
//
// A dry run is the call itself over a log in memory that reads the real log below
// it, and over blobs of the same kind. So no second set of checks can differ.
// Clients ask for it by a path prefix, which older nodes do not have: a header
// would be ignored, and the change made.
//
// The package imports no metrics library: the caller observes requests with a
// function in Config.
package server
