package optional

import "github.com/sesslog/sesslog/core"

// An Examiner is a core.Dialect that can tell how much of a session its agent reaches
// when it resumes the session, and repair its files.
type Examiner interface {
	// Examine reads the files of one session by path, of which main is the one
	// that the agent opens. With join, the repair also puts branches that ended
	// before the session continued elsewhere into the history. Returns
	// core.ErrInvalid if the files are not a session of the dialect.
	Examine(main string, files map[string][]byte, join bool) (Examination, error)
}

// An AgentReader is a core.Dialect whose agent does not read every file that File reads,
// or not every line of it.
type AgentReader interface {
	// AgentFile reads a session file as the agent does. Returns core.ErrInvalid,
	// which says why, if the agent refuses the file.
	AgentFile(data []byte) (*core.File, error)
}

// An Examination says how much of a session its agent reaches when it resumes it.
// Messages that are in none of Sent, Summarized and Branches are lost to the agent.
type Examination struct {
	Messages   int     `json:"messages"`   // in the files
	Sent       int     `json:"sent"`       // to the model
	Summarized int     `json:"summarized"` // replaced by a compaction
	Branches   int     `json:"branches"`   // on branches that the session left
	Faults     []Fault `json:"faults"`

	// File is the path of the file that the agent continues. Append is what repairs
	// faults if it is added to the end of that file. Copy is the file as it should
	// be, if adding lines does not suffice.
	File   string `json:"-"`
	Append []byte `json:"-"`
	Copy   []byte `json:"-"`
}

// Lost returns how many messages the agent does not reach.
func (x *Examination) Lost() int { return x.Messages - x.Sent - x.Summarized - x.Branches }

// A Fault is a reason why an agent does not reach a part of a session.
type Fault struct {
	Kind   FaultKind `json:"kind"`
	Line   int       `json:"line,omitempty"` // of the main file, from 1
	Text   string    `json:"text"`
	Repair Repair    `json:"repair,omitempty"` // empty if there is none
}

// A FaultKind is a kind of fault, as -o json names it.
type FaultKind string

// The kinds of faults.
const (
	MissingParent    FaultKind = "missing-parent"    // a line's parent is not in the file
	Cycle            FaultKind = "cycle"             // a line is its own ancestor
	StaleLeaf        FaultKind = "stale-leaf"        // the agent continues before the last message
	MissingLeaf      FaultKind = "missing-leaf"      // the recorded leaf is not in the file
	AbandonedLines   FaultKind = "branch"            // messages on a branch that ended before the session continued
	TruncatedTail    FaultKind = "truncated-tail"    // the last line is incomplete
	GluedLines       FaultKind = "glued-lines"       // one line holds several
	BadLine          FaultKind = "bad-line"          // a line is not a JSON object
	CollidingIDs     FaultKind = "colliding-ids"     // two different lines have one id
	LostSegment      FaultKind = "lost-segment"      // lines that a compaction kept are missing
	Refused          FaultKind = "refused"           // the agent does not open the file
	EndsInside       FaultKind = "ends-inside"       // the agent splits a line at a character within it
	MissingBase      FaultKind = "missing-base"      // the file that a fork continues is missing or shorter
	BadOrdinal       FaultKind = "bad-ordinal"       // lines are not numbered in order
	MissingEvents    FaultKind = "missing-events"    // the event log of a session has gaps
	UnfinishedTurn   FaultKind = "unfinished"        // the agent ended in the middle of an answer
	FailedAnswer     FaultKind = "failed-answer"     // an answer ended in an error, and the agent does not send it
	MissingDirectory FaultKind = "missing-directory" // the directory in which the agent worked does not exist
	TooLarge         FaultKind = "too-large"         // the agent is known to fail with such files
	Expires          FaultKind = "expires"           // the agent deletes the file soon
)

// A Repair is how a fault can be repaired.
type Repair string

// The ways of repairing.
const (
	ByAppending Repair = "append"
	ByJoining   Repair = "join" // lines are added if the caller asks for it: see Examiner
	ByCopy      Repair = "copy"
)
