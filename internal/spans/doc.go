// Package spans has the helpers for traces that the packages of a node share: how a
// span ends, and how a record's header carries a trace. It depends only on the API
// of OpenTelemetry; package tracing exports the spans.
//
// One trace leads from a request through the log to what other nodes do because of
// it: a record's header Sess-Trace carries it, outside of the chain and only if the
// trace is sampled. If several requests share a record, it belongs to the trace of
// the first, and the others are linked.
package spans
