// Package convert makes a session of one agent into a session of another. It
// does no I/O.
package convert

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Request says what to convert.
type Request struct {
	From    core.Dialect
	To      core.Dialect
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf // where the session stands; a linear dialect gets the path to it
	ID      string    // of the session that is made
	Time    string    // when it is made, ISO 8601 with milliseconds and Z
}

// A Result is the converted session.
type Result struct {
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf
	Lost    []Loss // what could not be carried over, most frequent first
}

// A Loss is something that the other agent's format has no place for.
type Loss struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Convert makes the session of another dialect.
func Convert(q Request) (Result, error) {
	return Result{}, fmt.Errorf("from %s to %s: %w", q.From.Name(), q.To.Name(), core.ErrInvalid)
}
