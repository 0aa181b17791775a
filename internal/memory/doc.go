// Package memory bounds how many bytes callers can have a node hold at once.
//
// A Budget is a number of bytes. Code that is about to hold a session, a body or
// an answer for a caller takes a Lease of the budget first, and waits if there is
// no room. Code that reads on behalf of such a caller, and learns only then how
// much that is, adds it to the lease in its context with Grow.
package memory
