// Package limiter bounds how much of a resource the callers of a node use at once, and
// divides it among them.
package limiter
