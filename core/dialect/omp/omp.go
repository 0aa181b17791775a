package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
)

// A Dialect is the dialect of omp. Its methods keep nothing and may be called
// from several goroutines. The zero Dialect knows nothing of the machine that
// a session was written on; the fields say what omp finds out there.
type Dialect struct {
	frame.JS
	// Home and Temp are the directories that file names are relative to: what
	// os.UserHomeDir and os.TempDir return there, symbolic links resolved.
	Home, Temp string
	// Notes is what a context says of the notebook, with "{{notes}}" where the
	// notes go. Where it is empty they stand between their tags alone: the
	// words that omp puts there are its prompt, not the session's.
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
