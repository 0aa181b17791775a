// Package spans has the helpers for traces that the packages of a node share: how a
// span ends, and how a record's header carries a trace. It depends only on the API
// of OpenTelemetry; package tracing exports the spans.
package spans
