package pi

import "github.com/sesslog/sesslog/core"

// A Dialect is the dialect of pi. Its methods keep nothing and may be called
// from several goroutines.
type Dialect struct{}

var _ core.Dialect = Dialect{}

// Name is "pi".
func (Dialect) Name() string { return "pi" }

// version is the format version that pi 1.5.2 writes.
const version = 3

// typeHeader is the type of a header line.
const typeHeader = "session"
