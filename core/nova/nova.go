package nova

import (
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
)

// A Dialect is the dialect of Nova. Its methods keep nothing and may be called
// from several goroutines.
type Dialect struct{}

var _ core.Dialect = Dialect{}

const name = "nova"

// Name is "nova".
func (Dialect) Name() string { return name }

// DefaultModel is the model of a session that was made without one.
const DefaultModel = "claude-sonnet-4-5-20250929"

// When a state is due for compression, as Nova has it.
const (
	MaxDecisions = 10
	MaxTokens    = 150_000
)

// The types of lines. Those that are not changes of the state are the header,
// the first entry of a state that came whole, a name and a label.
const (
	typeHeader   = "nova"
	typeCreated  = "created"
	typeState    = "state"
	typeDecision = "decision"
	typeArtifact = "artifact"
	typeTokens   = "tokens"
	typeTurns    = "turns"
	typeTask     = "task"
	typeUpdate   = "update"
	typeCompress = "compress"
	typeFork     = "fork"
	typeName     = "name"
	typeLabel    = "label"
)

// Linear is true: a state has one history.
func (Dialect) Linear() bool { return true }

// Keeps is true: Nova makes a file as soon as there is a session.
func (Dialect) Keeps([]core.Entry) bool { return true }

// EntryID is 16 hexadecimal digits.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:8]) }

// ImageStore is empty: a state has no images.
func (Dialect) ImageStore() string { return "" }
