package report

import (
	"github.com/sesslog/sesslog/core"
)

// A Verification is what was found in a session.
type Verification struct {
	Session   core.SessionID `json:"session"`
	Records   int            `json:"records"`
	Rewritten int            `json:"rewritten"` // of them, stored again after the log had lost them
	Restored  int            `json:"restored"`  // of them, restored from a backup
	Entries   int            `json:"entries"`
	Blobs     int            `json:"blobs"`
	Snapshot  *core.Manifest `json:"-"` // the latest, nil if there is none
	Cursor    core.Cursor    `json:"cursor"`
	Problems  []Problem      `json:"problems"`
}

// A Problem is one thing that is wrong.
type Problem struct {
	Kind   Damage `json:"kind"`
	What   string `json:"what"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what to do about it
}

// A Damage names what is damaged. Package verify lists the kinds.
type Damage string

// Add adds a problem.
func (r *Verification) Add(kind Damage, what, next string, err error) {
	r.Problems = append(r.Problems, Problem{Kind: kind, What: what, Detail: err.Error(), Next: next})
}
