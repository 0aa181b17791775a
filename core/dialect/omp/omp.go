package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
)

// A Dialect is the dialect of omp. It keeps no state and is safe for concurrent
// use. The zero Dialect has no data of the host on which a session was
// written; the fields hold what omp finds out there.
type Dialect struct {
	frame.JS
	// Home and Temp are the directories that file names are relative to: the
	// results of os.UserHomeDir and os.TempDir on that host, with symbolic
	// links resolved.
	Home, Temp string
	// Notes is the text of a context around the notebook, with "{{notes}}" in
	// place of the notes. If it is empty, the notes have only their tags around
	// them: omp's text there is its prompt and not part of the session.
	Notes string
}

var _ core.Dialect = Dialect{}

// Name is "omp".
func (Dialect) Name() string { return "omp" }

// The types of lines that are not like the others.
const (
	typeHeader = "session"
	typeSlot   = "title"
	typeRename = "title_change"
	typeReset  = "reset_boundary"
)
