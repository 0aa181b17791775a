// Package tracing sends a node's spans to a collector if the standard environment
// variables of OpenTelemetry enable it.
//
// It is the only package that depends on the SDK. The others get a Tracer and
// depend only on the API.
package tracing
