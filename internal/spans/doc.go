// Package spans is what the packages of a node share about traces: how a span
// ends, and how a trace travels in the header of a record. It knows the API of
// OpenTelemetry alone; where spans go is for package tracing to know.
package spans
