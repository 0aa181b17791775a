// Package sessiontest is the conformance suite of package session. It runs over any
// session.Log, and over none.
package sessiontest
