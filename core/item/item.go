package item

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An Item is one thing that an entry says, in terms that all agents share.
// Conversion carries items from one dialect to another, and programs append
// items if they do not want to depend on an agent's format. The comments say
// which kinds use a field; otherwise it is zero.
type Item struct {
	Kind Kind
	Time string // ISO 8601 with milliseconds and Z; empty if unknown

	// Message: the speaker and the content. A message of RoleTool holds one
	// block, a result; a message of an agent with several results makes several
	// items. Note uses Blocks, too.
	Role   Role
	Blocks []Block
	// Message of RoleAssistant: the source and the cost of the answer.
	API      string // the wire protocol, such as "openai-completions"
	Provider string // Model too
	Model    string // Model too
	For      string // Model: the agent's role that the model is for; empty for the default
	Usage    *Usage
	Stop     Stop
	Error    string

	// Level: the thinking level. Compaction and Branch: the summary.
	// Label: the label, empty to clear. Name: the name, empty to clear.
	// Mode: the mode. Channel: its name.
	Text string
	// Label: the labeled entry. Compaction: the first entry kept, empty
	// for none. Branch: the entry at which the branch was left, or from
	// which the session continues, depending on the agent; empty for the root.
	// Leaf: the entry that the session moves to, empty for none.
	Target string
	Tokens int64 // Compaction: tokens of the context before it
	// Compaction, Branch, Custom, Note, Mode: data that the
	// agent or its extension adds. One JSON value, or nil.
	Details json.RawMessage
	Type    string // Custom, Note: the extension's own name for it
	Hidden  bool   // Note: it is not shown to people
	// Compaction, Branch: an extension wrote the summary. Own describes further data
	// that only the item's agent can represent; Write reports it as lost.
	ByExtension bool
	Own         []string
}

// An Kind is the kind of an Item.
type Kind string

// The kinds of items.
const (
	Message    Kind = "message"
	Model      Kind = "model"      // from here on this model answers
	Level      Kind = "level"      // from here on this thinking level holds
	Compaction Kind = "compaction" // a summary that replaces what came before it
	Branch     Kind = "branch"     // a summary of a branch that was left
	Label      Kind = "label"
	Name       Kind = "name"
	Custom     Kind = "custom" // an extension's data, which no model sees
	Note       Kind = "note"   // an extension's message, which the model sees
	Leaf       Kind = "leaf"   // the session moves to another entry
	Mode       Kind = "mode"
	Channel    Kind = "channel"
)

// A Role is the speaker of a message.
type Role string

// Who speaks.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Stop is why a model's answer ended.
type Stop string

// Why answers end. Empty means that it is not known.
const (
	StopEnd     Stop = "stop"
	StopLength  Stop = "length"
	StopTools   Stop = "tools"
	StopFilter  Stop = "filter"
	StopError   Stop = "error"
	StopAborted Stop = "aborted"
)

// A Block is a piece of a message.
type Block struct {
	Kind BlockKind
	Text string // BlockText, BlockThinking
	// Signature is the provider's seal on a text, a thought or a call, opaque.
	Signature string
	// Hidden: the provider hid a thought (BlockThinking), and Signature is all
	// there is of it.
	Hidden bool
	MIME   string // BlockImage, BlockAudio: such as "image/png"
	Data   string // BlockImage, BlockAudio: base64, or "blob:sha256:…"
	ID     string // BlockCall, BlockResult: of the call
	Name   string // BlockCall, BlockResult: of the tool
	// Args are a call's arguments, one JSON value, as a rule an object.
	Args json.RawMessage
	// Blocks is what a result holds: texts and images.
	Blocks  []Block
	Failed  bool            // BlockResult: the tool failed
	Details json.RawMessage // BlockResult: further data of the tool; one JSON value, or nil
}

// A BlockKind is the kind of a Block.
type BlockKind string

// What messages are made of.
const (
	BlockText     BlockKind = "text"
	BlockImage    BlockKind = "image"
	BlockAudio    BlockKind = "audio"
	BlockThinking BlockKind = "thinking"
	BlockCall     BlockKind = "call"
	BlockResult   BlockKind = "result"
)

// LostModel is the loss that Write reports if the agent's messages do not name
// the model that answered. An Model before the message preserves it.
const LostModel = "which model answered"

// LostLevel is the loss of a thinking level that an agent with these levels does not
// have.
func LostLevel(level string, levels []string) string {
	return fmt.Sprintf("thinking level %.40q (not one of %s)", level, strings.Join(levels, ", "))
}

// LostOfAnswer returns what is lost of an answer in a format that has a place for
// its blocks alone.
func (it *Item) LostOfAnswer() (lost []string) {
	if it.Model != "" {
		lost = append(lost, LostModel)
	}
	if it.Usage != nil {
		lost = append(lost, "what an answer cost")
	}
	switch it.Stop {
	case StopLength, StopFilter, StopError, StopAborted:
		lost = append(lost, "that an answer was cut short")
	}
	if it.Error != "" {
		lost = append(lost, "an answer's error")
	}
	return lost
}

// LostOfSummary returns what is lost of a summary in a format that has a place for its
// text alone.
func (it *Item) LostOfSummary() (lost []string) {
	if it.ByExtension {
		lost = []string{"that an extension wrote a summary"}
	}
	return append(lost, it.Own...)
}

// Usage is what a session cost: counts of tokens, and Cost in the provider's
// currency as the agent wrote it.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
}
