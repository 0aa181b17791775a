package opencode

import (
	"math"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// The types of events that this package reads. Other types are kept and ignored.
const (
	typeCreated     = "session.created.1"
	typeUpdated     = "session.updated.1"
	typeDeleted     = "session.deleted.1"
	typeMessage     = "message.updated.1"
	typeUnMessage   = "message.removed.1"
	typePart        = "message.part.updated.1"
	typeUnPart      = "message.part.removed.1"
	typeMessages    = "messages" // made in the log, or of an export
	typeResult      = "result"   // of a tool, made in the log
	typeExport      = "export"   // the session as an export has it
	typeName        = "name"
	typeLabel       = "label"
	typeLayout      = "layout" // the text between the events of a file
	eventsFile      = "events.json"
	exportFile      = "export.json"
	writtenVersion  = "1.18.33"
	globalProjectID = "global"
)

// An event is one of a session's event log.
type event struct {
	raw     jsjson.Value
	id      string
	session string // the aggregate
	seq     int64
	kind    string
	data    jsjson.Value
}

var eventMembers = [...]string{"id", "aggregate_id", "aggregateID", "seq", "type", "data"}

// readEvent reads v as an event. It reports false if v is none.
func readEvent(v []byte) (event, bool) {
	var m [len(eventMembers)]jsjson.Value
	if jsjson.Pick(v, eventMembers[:], m[:]) != nil {
		return event{}, false
	}
	ev := event{raw: v, data: m[5]}
	ev.id, _ = m[0].Text()
	if ev.session, _ = m[1].Text(); ev.session == "" {
		ev.session, _ = m[2].Text()
	}
	ev.kind, _ = m[4].Text()
	var counted bool
	ev.seq, counted = count(m[3])
	return ev, counted && ev.id != "" && ev.session != "" && ev.kind != "" && ev.data.Kind() == '{'
}

// lineOf returns what opencode wrote of e, or the line that was made in the log.
// It is nil for what is no part of the session.
func lineOf(e core.Entry) jsjson.Value {
	if e.Aside {
		return nil
	}
	p, ours, err := envelope.Open(e.Line)
	switch {
	case !ours:
		return e.Line
	case err != nil || !p.IsLine() || p.Pieces != 1:
		return nil
	}
	return p.Bytes
}

// maxCount bounds times and numbers of tokens: beyond it a double is not exact.
const maxCount = 1 << 53

// count returns v as a whole number. It reports false if v is not one from 0 to
// maxCount.
func count(v jsjson.Value) (int64, bool) {
	f, ok := v.Number()
	if !ok || f < 0 || f > maxCount || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// member returns the member of v called name, or nil if there is none. More
// names lead to a member of that member.
func member(v jsjson.Value, names ...string) jsjson.Value {
	for _, name := range names {
		var found [1]jsjson.Value
		if v.Kind() != '{' || jsjson.Pick(v, []string{name}, found[:]) != nil {
			return nil
		}
		v = found[0]
	}
	return v
}

// text returns the text of a member, or "" if there is none.
func text(v jsjson.Value, names ...string) string {
	s, _ := member(v, names...).Text()
	return s
}

// millis returns the time that a member says, in milliseconds since 1970, or 0.
func millis(v jsjson.Value, names ...string) int64 {
	n, _ := count(member(v, names...))
	return n
}

// isoTime returns a time of opencode as the log has times, or "" for 0.
func isoTime(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return date.ISO(float64(ms))
}
