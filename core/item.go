package core

import "encoding/json"

// An Item is one thing that an entry says, in terms that all agents share.
// Conversion carries items from one dialect to another, and programs append
// items if they do not want to depend on an agent's format. The comments say
// which kinds use a field; otherwise it is zero.
type Item struct {
	Kind ItemKind
	Time string // ISO 8601 with milliseconds and Z; empty if unknown

	// ItemMessage: the speaker and the content. A message of RoleTool holds one
	// block, a result; a message of an agent with several results makes several
	// items. ItemNote uses Blocks, too.
	Role   Role
	Blocks []Block
	// ItemMessage of RoleAssistant: the source and the cost of the answer.
	API      string // the wire protocol, such as "openai-completions"
	Provider string // ItemModel too
	Model    string // ItemModel too
	For      string // ItemModel: the agent's role that the model is for; empty for the default
	Usage    *Usage
	Stop     Stop
	Error    string

	// ItemLevel: the thinking level. ItemCompaction and ItemBranch: the summary.
	// ItemLabel: the label, empty to clear. ItemName: the name, empty to clear.
	// ItemMode: the mode. ItemChannel: its name.
	Text string
	// ItemLabel: the labeled entry. ItemCompaction: the first entry kept, empty
	// for none. ItemBranch: the entry at which the branch was left, or from
	// which the session continues, depending on the agent; empty for the root.
	// ItemLeaf: the entry that the session moves to, empty for none.
	Target string
	Tokens int64 // ItemCompaction: tokens of the context before it
	// ItemCompaction, ItemBranch, ItemCustom, ItemNote, ItemMode: data that the
	// agent or its extension adds. One JSON value, or nil.
	Details json.RawMessage
	Type    string // ItemCustom, ItemNote: the extension's own name for it
	Hidden  bool   // ItemNote: it is not shown to people
}

// An ItemKind is the kind of an Item.
type ItemKind string

// The kinds of items.
const (
	ItemMessage    ItemKind = "message"
	ItemModel      ItemKind = "model"      // from here on this model answers
	ItemLevel      ItemKind = "level"      // from here on this thinking level holds
	ItemCompaction ItemKind = "compaction" // a summary that replaces what came before it
	ItemBranch     ItemKind = "branch"     // a summary of a branch that was left
	ItemLabel      ItemKind = "label"
	ItemName       ItemKind = "name"
	ItemCustom     ItemKind = "custom" // an extension's data, which no model sees
	ItemNote       ItemKind = "note"   // an extension's message, which the model sees
	ItemLeaf       ItemKind = "leaf"   // the session moves to another entry
	ItemMode       ItemKind = "mode"
	ItemChannel    ItemKind = "channel"
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
// the model that answered. An ItemModel before the message preserves it.
const LostModel = "which model answered"
