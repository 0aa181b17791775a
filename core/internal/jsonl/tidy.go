package jsonl

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// tidyMembers are what an entry is made of.
var tidyMembers = [...]string{"type", "id", "parentId", "timestamp"}

// tidyEntry is Entry for a line that is tidy. It reports false for others.
func tidyEntry(line []byte) (core.Entry, bool) {
	var v [len(tidyMembers)]esjson.Value
	if !esjson.PickTidy(line, tidyMembers[:], v[:]) {
		return core.Entry{}, false
	}
	return entryOf(line, v), true
}

// Glance is Entry for a line that is known to be tidy. It reads no more of it
// than it needs, which for most lines is the beginning.
func Glance(line []byte) core.Entry {
	var v [len(tidyMembers)]esjson.Value
	esjson.Tidy(line).Pick(tidyMembers[:], v[:])
	return entryOf(line, v)
}

// entryOf is the entry of a tidy line with these of the tidyMembers.
func entryOf(line []byte, v [len(tidyMembers)]esjson.Value) core.Entry {
	e := core.Entry{Line: line, Tidy: true}
	if string(v[0]) == `"message"` {
		e.Type = "message" // as nearly all are; they need not keep the word each
	} else {
		e.Type, _ = Text(v[0])
	}
	e.ID, _ = Text(v[1])
	e.Parent, _ = Text(v[2])
	e.Time, _ = Text(v[3])
	return e
}
