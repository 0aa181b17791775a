// Package tracing sends a node's spans to a collector, where the standard
// environment of OpenTelemetry asks for it, and nowhere otherwise.
//
// It is the only package that knows of the SDK. The others are given a Tracer,
// and know of the API alone.
package tracing
