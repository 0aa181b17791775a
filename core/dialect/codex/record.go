package codex

import "github.com/sesslog/sesslog/core/internal/jsjson"

// The types of lines that this package reads. Other types are kept and ignored.
const (
	typeMeta      = "session_meta"
	typeItem      = "response_item"
	typeEvent     = "event_msg"
	typeCompacted = "compacted"
	typeUsage     = "token_usage_record"
	typeTurn      = "turn_context"
)

// A record is one line of a rollout.
type record struct {
	kind    string       // the line's type
	time    string       // its timestamp as written
	payload jsjson.Value // nil if the line has none
	of      string       // the payload's own type; empty if it has none
	// ordinal is the line's number in the thread. Files of older versions, and
	// of the legacy mode, have none.
	ordinal  int64
	numbered bool
}

var recordMembers = [...]string{"timestamp", "ordinal", "type", "payload"}

// readRecord reads a line. It reports false if the line is not one JSON object.
func readRecord(line []byte) (record, bool) {
	var v [len(recordMembers)]jsjson.Value
	if jsjson.Pick(line, recordMembers[:], v[:]) != nil {
		return record{}, false
	}
	r := record{payload: v[3]}
	r.time, _ = v[0].Text()
	r.kind, _ = v[2].Text()
	r.ordinal, r.numbered = count(v[1])
	r.of = memberText(r.payload, "type")
	return r, true
}

// maxCount bounds ordinals, offsets and numbers of tokens: beyond it a double
// is not exact.
const maxCount = 1 << 53

// count returns v as a number that counts something. It reports false if v is
// not a whole number from 0 to maxCount.
func count(v jsjson.Value) (int64, bool) {
	f, ok := v.Number()
	if !ok || f < 0 || f > maxCount || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// memberText returns the text of the member of v called name, or "" if v is not
// an object, or the member is not a string.
func memberText(v jsjson.Value, name string) string {
	s, _ := member(v, name).Text()
	return s
}

// member returns the member of v called name, or nil if there is none.
func member(v jsjson.Value, name string) jsjson.Value {
	if v.Kind() != '{' {
		return nil
	}
	var found [1]jsjson.Value
	if jsjson.Pick(v, []string{name}, found[:]) != nil {
		return nil
	}
	return found[0]
}
