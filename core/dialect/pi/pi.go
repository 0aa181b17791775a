package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
)

// A Dialect is the dialect of pi. The zero Dialect has the rules of pi 1.5.2.
// It keeps no state and is safe for concurrent use.
type Dialect struct {
	frame.JS
	// V073 reads the same lines by the rules of pi 0.73.1. The package comment
	// lists the differences.
	V073 bool
}

var _ core.Dialect = Dialect{}

// Name is "pi", whichever version: it is the name of the lines.
func (Dialect) Name() string { return "pi" }

// typeHeader is the type of a header line.
const typeHeader = "session"
