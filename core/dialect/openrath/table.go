package openrath

import (
	"iter"
	"slices"
)

// A Table is the chunks of a session in order. It never changes: Extend makes
// another. The zero Table is empty.
type Table struct{ rows []Chunk }

// NewTable returns a table of rows, which it copies.
func NewTable(rows ...Chunk) Table { return Table{slices.Clone(rows)} }

// Extend returns a table of the chunks of t followed by rows. The tables share
// no mutable memory.
func (t Table) Extend(rows ...Chunk) Table { return Table{slices.Concat(t.rows, rows)} }

// Len is how many chunks there are.
func (t Table) Len() int { return len(t.rows) }

// At returns the chunk at i, from 0. It panics if there is none.
func (t Table) At(i int) Chunk { return t.rows[i] }

// All yields the chunks with their places.
func (t Table) All() iter.Seq2[int, Chunk] { return slices.All(t.rows) }
