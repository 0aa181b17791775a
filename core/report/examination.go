package report

import (
	"slices"
)

// A Level is how serious a finding is.
type Level string

// The levels, the most serious last.
const (
	Note    Level = "note"    // nothing is wrong; something could be cheaper or safer
	Warning Level = "warning" // something does not work as it should, or soon will not
	Danger  Level = "danger"  // acknowledged data may be lost, or work is refused
)

// A Finding is one thing that is wrong.
type Finding struct {
	Check    string `json:"check"`
	Level    Level  `json:"level"`
	What     string `json:"what"`   // a stream, a session, a setting
	Detail   string `json:"detail"` // what is wrong with it
	Next     string `json:"next,omitempty"`
	Repaired bool   `json:"repaired,omitempty"` // by a repair
}

// An Examination is what was checked, and what was found.
type Examination struct {
	Log      string    `json:"log"`
	Node     string    `json:"node"`
	Checks   []Check   `json:"checks"`   // in order
	Findings []Finding `json:"findings"` // the most serious first
}

// A Check is one subject that was checked.
type Check struct {
	Name string `json:"name"`
	Seen string `json:"seen"` // in a few words
}

// Worst returns the most serious level that is not repaired, "" if there is none.
func (r *Examination) Worst() Level {
	var worst Level
	for _, f := range r.Findings {
		if !f.Repaired && f.Level.Compare(worst) > 0 {
			worst = f.Level
		}
	}
	return worst
}

// rank returns the position of l among the levels.
func (l Level) rank() int { return slices.Index([]Level{"", Note, Warning, Danger}, l) }

// Compare orders levels, the most serious last.
func (l Level) Compare(other Level) int { return l.rank() - other.rank() }
