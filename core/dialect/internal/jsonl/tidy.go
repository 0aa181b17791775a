package jsonl

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// tidyMembers are what an entry is made of.
var tidyMembers = [...]string{"type", "id", "parentId", "timestamp"}

// pickedMembers are the members that tidyEntry reads.
var pickedMembers = [...]string{"type", "id", "parentId", "timestamp", "message"}

// tidyEntry is Entry for a line that is tidy, which here includes that a message
// is its last member. It reports false for others.
func tidyEntry(line []byte) (core.Entry, bool) {
	var v [len(pickedMembers)]jsjson.Value
	last, ok := jsjson.PickTidy(line, pickedMembers[:], v[:])
	if !ok || v[4] != nil && string(last) != "message" {
		return core.Entry{}, false
	}
	return entryOf(line, v[:4]), true
}

// TidyEntry is Entry for a line that is known to be tidy. It reads no more of it
// than it needs, which for most lines is the beginning.
func TidyEntry(line []byte) core.Entry {
	var v [len(tidyMembers)]jsjson.Value
	jsjson.Tidy(line).Pick(tidyMembers[:], v[:])
	return entryOf(line, v[:])
}

// GlanceMessage returns the message of e, which is tidy, or nil if it has none.
func GlanceMessage(e core.Entry) jsjson.Tidy {
	m := jsjson.Tidy(e.Line).From("message")
	return m[:max(0, len(m)-1)]
}

// entryOf is the entry of a tidy line with these of the tidyMembers.
func entryOf(line []byte, v []jsjson.Value) core.Entry {
	e := core.Entry{Line: line, Tidy: true, Type: typeOf(v[0])}
	e.ID, e.Parent, e.Time = Texts(v[1], v[2], v[3])
	return e
}
