package loop

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
)

// A State is what the rows of a session say about its run. It is a pure function
// of the rows: the process that wrote them and the one that continues the run see
// the same.
type State struct {
	Messages []Message
	Usage    *Usage // of all replies; nil if none said
	Rounds   int    // replies since the last message of a user
	Finish   Finish // of the last reply
	Closed   bool   // the session has its trailer

	// The last reply: the usage before it, the id of its entry, its line, and the
	// indexes of the calls that were started, as far as that is noted.
	before  *Usage
	reply   string
	line    []byte
	calls   []Call
	started []int
	results int // of its calls, in their order
}

// StateOf returns the state after entries, of a session of OpenRath. It returns
// core.ErrCorrupt for an entry that is no row.
func StateOf(entries []core.Entry) (*State, error) {
	st := &State{}
	for i := range entries {
		if err := st.add(entries[i]); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return st, nil
}

// add applies the next entry.
func (st *State) add(e core.Entry) error {
	if e.Aside {
		st.Closed = true
		return nil
	}
	m, n, err := readRow(e.Line)
	if err != nil {
		return err
	}
	st.Messages = append(st.Messages, m)
	switch m.Role {
	case User:
		st.Rounds, st.Finish = 0, ""
		st.calls, st.results = nil, 0
	case Assistant:
		st.Rounds++
		if n.Finish == inherited {
			st.Rounds = 0
		}
		st.Finish, st.before = n.Finish, st.Usage
		st.reply, st.line, st.calls, st.started, st.results = e.ID, e.Line, m.Calls, n.Started, 0
		st.Usage = (*Usage)(openrath.AddUsage((*openrath.Usage)(st.Usage), (*openrath.Usage)(n.Usage)))
	case ToolResult:
		st.results++
	}
	return nil
}

// A Step is what a run does next.
type Step int

// The steps.
const (
	Stop      Step = iota // the run is over
	CallModel             // ask the model with all messages
	RunTools              // run the pending calls of the last reply
)

// A Reason is why a run is over.
type Reason string

// The reasons.
const (
	Stopped   Reason = "stop"           // the model has nothing more to say
	Length    Reason = "length"         // its reply was cut at its limit
	Filtered  Reason = "content_filter" // its reply was withheld
	Truncated Reason = "truncated"      // MaxRounds replies were not enough
	Closed    Reason = "closed"         // the session has a trailer
)

// A Pending is a call without a result.
type Pending struct {
	Call
	Index   int  // among the calls of its reply
	Started bool // a host may have run it: it noted that it starts the call
}

// Next returns the next step of a run of at most rounds replies, and for Stop the
// reason.
func (st *State) Next(rounds int) (Step, Reason) {
	last := len(st.Messages) - 1
	switch {
	case st.Closed:
		return Stop, Closed
	case st.results < len(st.calls):
		return RunTools, ""
	case last >= 0 && st.Messages[last].Role == Assistant && len(st.calls) == 0 && st.Finish.ends():
		return Stop, reasonOf(st.Finish)
	case st.Rounds >= rounds:
		return Stop, Truncated
	}
	return CallModel, ""
}

func reasonOf(f Finish) Reason {
	if f == "" {
		return Stopped
	}
	return Reason(f)
}

// Pending returns the calls of the last reply that have no result, in their order.
func (st *State) Pending() []Pending {
	var ps []Pending
	for i := st.results; i < len(st.calls); i++ {
		ps = append(ps, Pending{st.calls[i], i, slices.Contains(st.started, i)})
	}
	return ps
}
