package api

import (
	"bytes"

	"github.com/sesslog/sesslog/core"
)

// EntryLines splits a body into its lines without blank ones, and returns the
// line number of each.
func EntryLines(body []byte) (lines [][]byte, numbers []int) {
	for n := 1; len(body) > 0; n++ {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
			numbers = append(numbers, n)
		}
		body = rest
	}
	return lines, numbers
}

// ReactionRequest adds a reaction to a message of a channel.
type ReactionRequest struct {
	Message string `json:"message"` // as the channel calls it
	Emoji   string `json:"emoji"`
}

// Amended says where an amendment is.
type Amended struct {
	Cursor core.Cursor `json:"seq"`
}

// Imported is the result of an import.
type Imported struct {
	ID      string         `json:"id"`      // the file's own session id
	Session core.SessionID `json:"session"` // its name in the log; the same, where that id is fit for it
	Created bool           `json:"created"`
	Head    string         `json:"head,omitempty"` // that the file's lines are on, where it is not main
	Entries int            `json:"entries"`        // lines that were not there before
	Blobs   int            `json:"blobs"`
	Skipped []core.BadLine `json:"skipped"`
	Version string         `json:"version"`           // the format version of the file
	Kept    core.Digest    `json:"original,omitzero"` // the file as it was, where it is kept
	Cursor  core.Cursor    `json:"seq"`
}

// LabelRequest sets an entry's label; an empty one clears it.
type LabelRequest struct {
	Target string `json:"target"`
	Label  string `json:"label"`
}

// NameRequest names the session; an empty name clears it.
type NameRequest struct {
	Name string `json:"name"`
}

// Notice says who does something that affects others, and why.
type Notice struct {
	By   string `json:"by,omitempty"`
	Host string `json:"host,omitempty"`
	Why  string `json:"why,omitempty"`
}
