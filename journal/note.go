package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// An Op says what a note is.
type Op string

// What is kept for the log.
const (
	OpCreate  Op = "create"
	OpAppend  Op = "append"
	OpAmend   Op = "amend"
	OpMove    Op = "move"
	OpClaim   Op = "claim"
	OpRelease Op = "release"
)

// What is noted about it.
const (
	opStored  Op = "stored"  // the log has N
	opRefused Op = "refused" // the log did not take N, and its caller knows
	opOwn     Op = "own"     // what is for Head goes to Own
	opSeen    Op = "seen"    // Head stands at To as of At
	opCopy    Op = "copy"    // a whole session: its header and its lines
)

// A note is one frame: its JSON, and behind it the lines, each after a newline.
type note struct {
	Op      Op                   `json:"op"`
	N       uint64               `json:"n,omitempty"`
	Time    time.Time            `json:"time,omitzero"`
	Head    string               `json:"head,omitempty"`
	Writer  string               `json:"writer,omitempty"`
	After   core.Cursor          `json:"after,omitzero"` // as session.Writing has it
	Leaf    core.Leaf            `json:"leaf,omitzero"`  // where the writer knew the head to stand
	To      core.Leaf            `json:"to,omitzero"`    // where the head stands after it
	At      core.Cursor          `json:"at,omitzero"`    // where in the log
	Key     string               `json:"key,omitempty"`  // of what is given names: ids, a session
	Dialect string               `json:"dialect,omitempty"`
	By      string               `json:"by,omitempty"`
	Own     string               `json:"own,omitempty"`
	Claim   *session.Claim       `json:"claim,omitempty"`
	Heads   map[string]core.Leaf `json:"heads,omitempty"`

	lines [][]byte
}

// encode returns n as a payload. core.ErrInvalid where a line is more than one.
func (n *note) encode() ([]byte, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	for i, line := range n.lines {
		if bytes.IndexByte(line, '\n') >= 0 {
			return nil, &core.LineError{Line: i + 1, Err: fmt.Errorf("it is more than one line: %w", core.ErrInvalid)}
		}
		b = append(append(b, '\n'), line...)
	}
	return append(b, '\n'), nil
}

func decode(payload []byte) (note, error) {
	var n note
	payload = bytes.Clone(payload)
	head, rest, ok := bytes.Cut(payload, []byte("\n"))
	if !ok {
		return n, fmt.Errorf("an entry does not end: %w", core.ErrCorrupt)
	}
	if err := json.Unmarshal(head, &n); err != nil {
		return n, fmt.Errorf("an entry is not what was written: %v: %w", err, core.ErrCorrupt)
	}
	for len(rest) > 0 {
		line, more, _ := bytes.Cut(rest, []byte("\n"))
		n.lines, rest = append(n.lines, line), more
	}
	return n, nil
}
