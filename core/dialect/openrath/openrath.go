package openrath

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/optional"
)

// A Dialect is the dialect of OpenRath. It keeps no state and is
// safe for concurrent use. The zero Dialect reads the current format.
type Dialect struct {
	frame.Sequence // of chunks, without the trailers

	// Migrations upgrade what older versions wrote; nil for none.
	Migrations *Migrations
}

var (
	_ core.Dialect           = Dialect{}
	_ core.Admitter          = Dialect{}
	_ optional.Deriver       = Dialect{}
	_ optional.HeaderChecker = Dialect{}
)

const name = "openrath"

// Name is "openrath".
func (Dialect) Name() string { return name }

// Version is the schema version that OpenRath writes.
const Version = 1

// The types of records.
const (
	recordHeader  = "header"
	recordChunk   = "chunk"
	recordTrailer = "trailer"
)

// typeTrailer is the type of a trailer as an entry. No kind of chunk is called
// so.
const typeTrailer = recordTrailer
