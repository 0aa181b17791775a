package nova

import (
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// A Dialect is the dialect of Nova. It keeps no state and is safe for
// concurrent use.
type Dialect struct{}

var (
	_ core.Dialect           = Dialect{}
	_ optional.Checker       = Dialect{}
	_ core.Admitter          = Dialect{}
	_ optional.Completer     = Dialect{}
	_ optional.ForkCounter   = Dialect{}
	_ optional.SessionMarker = Dialect{}
	_ optional.Rewriter      = Dialect{}
	_ optional.Successor     = Dialect{}
)

const name = "nova"

// DefaultModel is the model of a session that names none.
const DefaultModel = "claude-sonnet-4-5-20250929"

// The types of lines.
const (
	typeHeader   = "nova"
	typeBegin    = "begin"
	typeState    = "state"
	typeTask     = "task"
	typeDecision = "decision"
	typeArtifact = "artifact"
	typeTokens   = "tokens"
	typeUpdate   = "update"
	typeCompress = "compress"
	typeForked   = "forked"
	typeName     = "name"
	typeLabel    = "label"
)

// Name is "nova".
func (Dialect) Name() string { return name }

// Linear is true: a session is the changes it went through.
func (Dialect) Linear() bool { return true }

// Keeps is true: Nova makes a session's file with the session.
func (Dialect) Keeps([]core.Entry) bool { return true }

// EntryID is 16 hexadecimal digits. Nova itself has no entries.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:8]) }

// ImageStore is empty: Nova keeps no images.
func (Dialect) ImageStore() string { return "" }

// FileName is the session's id followed by ".json", directly in the folder of
// sessions.
func (Dialect) FileName(h core.Header) (dir, file string) { return "", h.ID + ".json" }
