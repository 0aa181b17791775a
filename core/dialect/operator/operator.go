package operator

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/optional"
)

// A Dialect is the dialect of Operator. It keeps no state and is
// safe for concurrent use.
type Dialect struct {
	frame.Base
	// Request makes Context return what Usable leaves of it.
	Request bool
}

var (
	_ core.Dialect       = Dialect{}
	_ optional.Checker   = Dialect{}
	_ optional.Annotator = Dialect{}
)

const name = "operator"

// Name is "operator".
func (Dialect) Name() string { return name }

// version is the format version that Operator writes. It never reads it.
const version = 3

// The types of lines that Operator reads.
const (
	typeHeader        = "session"
	typeHeaderByBook  = "session_header" // as the document has it
	typeMessage       = "message"
	typeThinking      = "thinking_level_change"
	typeModel         = "model_change"
	typeCompaction    = "compaction"
	typeBranchSummary = "branch_summary"
	typeLabel         = "label"
	typeLeaf          = "leaf"
	typeCustom        = "custom"
	typeCustomMessage = "custom_message"
	typeInfo          = "session_info"
	typeChannel       = "channel"
)

func isHeader(kind string) bool { return kind == typeHeader || kind == typeHeaderByBook }
