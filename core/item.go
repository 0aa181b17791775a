package core

import "encoding/json"

// An Item is one thing that an entry says, in terms that all agents share. It
// is what conversion carries from one dialect to another, and what a program
// appends that does not want to know an agent's own words. Which fields a kind
// uses is said with them; the others are zero.
type Item struct {
	Kind ItemKind
	Time string // ISO 8601 with milliseconds and Z; empty where it is not known

	// ItemMessage: who speaks, and what. A message of RoleTool holds one block,
	// a result; an agent that puts several into one message makes several items.
	// ItemNote uses Blocks too.
	Role   Role
	Blocks []Block
	// ItemMessage of RoleAssistant: what the model's answer came from and cost.
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
	// ItemLabel: the entry labelled. ItemCompaction: the first entry kept, empty
	// for none. ItemBranch: the entry that the branch was left at, or the one it
	// goes on from, as the agent has it; empty for the root. ItemLeaf: where the
	// session stands, empty for nowhere.
	Target string
	Tokens int64 // ItemCompaction: tokens of the context before it
	// ItemCompaction, ItemBranch, ItemCustom, ItemNote, ItemMode: whatever the
	// agent or its extension adds. One JSON value, or nil.
	Details json.RawMessage
	Type    string // ItemCustom, ItemNote: the extension's own name for it
	Hidden  bool   // ItemNote: it is not shown to people
}

// An ItemKind says what an Item is.
type ItemKind string

// What entries say.
const (
	ItemMessage    ItemKind = "message"
	ItemModel      ItemKind = "model"      // from here on this model answers
	ItemLevel      ItemKind = "level"      // from here on this thinking level holds
	ItemCompaction ItemKind = "compaction" // what is before it is summed up
	ItemBranch     ItemKind = "branch"     // a summary of a branch that was left
	ItemLabel      ItemKind = "label"
	ItemName       ItemKind = "name"
	ItemCustom     ItemKind = "custom" // an extension's data, which no model sees
	ItemNote       ItemKind = "note"   // an extension's message, which the model sees
	ItemLeaf       ItemKind = "leaf"   // the session stands elsewhere from here on
	ItemMode       ItemKind = "mode"
	ItemChannel    ItemKind = "channel"
)

// A Role is who speaks in a message.
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
	MIME      string // BlockImage, BlockAudio: such as "image/png"
	Data      string // BlockImage, BlockAudio: base64, or "blob:sha256:…"
	ID        string // BlockCall, BlockResult: of the call
	Name      string // BlockCall, BlockResult: of the tool
	// Args are a call's arguments, one JSON value, as a rule an object.
	Args json.RawMessage
	// Blocks is what a result holds: texts and images.
	Blocks  []Block
	Failed  bool            // BlockResult: the tool failed
	Details json.RawMessage // BlockResult: what the tool says beside; one JSON value, or nil
}

// A BlockKind says what a Block is.
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

// LostModel is what Write says is lost of an answer where the agent's messages
// do not say which model gave them: an ItemModel in front of it does.
const LostModel = "which model answered"
