package loop

import (
	"context"

	"github.com/sesslog/sesslog/core/dialect/openrath"
)

// A Role is who a message is from: the kind of OpenRath's row.
type Role = openrath.Kind

// The roles.
const (
	System     = openrath.KindSystem
	User       = openrath.KindUser
	Assistant  = openrath.KindAssistant
	ToolResult = openrath.KindToolResult
)

// A Message is one row of a transcript.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // Assistant: the tools that it calls

	// ToolResult: the call that it answers.
	CallID string
	Name   string
}

// A Call asks for a tool.
type Call struct {
	ID   string
	Name string
	// Arguments is what the model wrote: as a rule a JSON object, but models make
	// mistakes.
	Arguments string
}

// Usage is a number of tokens.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// A Finish is why a model ended its reply. Models may have others.
type Finish string

// The usual ones.
const (
	FinishStop   Finish = "stop"
	FinishTools  Finish = "tool_calls"
	FinishLength Finish = "length"
	FinishFilter Finish = "content_filter"
)

// inherited is that of the replies that a session begins with: another run made
// them, and this one has yet to ask its model.
const inherited Finish = "inherited"

// ends reports whether a reply without calls ends the run. Rows that another
// program wrote do not say why they ended.
func (f Finish) ends() bool {
	return f == FinishStop || f == FinishLength || f == FinishFilter || f == ""
}

// A Request is what a model is asked.
type Request struct {
	Messages []Message
	Tools    []Spec // sorted by name
	NoTools  bool   // the model must not call tools
}

// A Reply is the whole answer of a model.
type Reply struct {
	Text   string
	Calls  []Call
	Usage  *Usage // nil if unknown
	Finish Finish
}

// A Delta is a piece of a reply that is under way. Pieces of a text, or of the
// arguments of a call, follow each other.
type Delta struct {
	Text string
	// Call is the index of the call that ID, Name and Arguments belong to.
	Call      int
	ID, Name  string
	Arguments string
}

// A Model answers requests. An error means that there is no reply: the loop stores
// nothing, and the run can be repeated.
type Model interface {
	Complete(ctx context.Context, q Request) (Reply, error)
}

// A Streamer is a Model that shows its replies while they are under way. The reply
// that it returns is complete. It does not call show after it has returned.
type Streamer interface {
	Model
	Stream(ctx context.Context, q Request, show func(Delta)) (Reply, error)
}
