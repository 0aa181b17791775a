// Package tracing sends spans to a collector if the standard environment variables of
// OpenTelemetry enable it: those of a node while it works, or those of a stored session.
//
// It is the only package that depends on the SDK. The others get a Tracer and
// depend only on the API.
package tracing
