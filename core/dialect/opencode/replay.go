package opencode

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Replay returns the events that make the session in opencode's database on
// another host, at a place there: one object for each, in the form that POST
// /sync/replay takes, and opencode's id of the session. The events that opencode
// wrote stay as they are, but for the place, so that a host that has the
// first of them takes the others. What the session has from exports, or was made in the
// log, and a session without events, such as a fork or a conversion, gets events that
// are derived from the content.
func Replay(h core.Header, es []core.Entry, at Place) (id string, events []json.RawMessage) {
	s := fold(h, es)
	r := replay{session: sessionID(h)}
	own := ownEvents(h, es)
	was := newState(h) // what the events fold into; the rest of s is of exports, or made in the log
	for _, ev := range own {
		was.takeEvent(ev.kind, ev.data, 0)
		ev, _ = readEvent(moved(ev, at))
		r.add(ev.id, ev.kind, ev.data)
	}
	if own == nil {
		s.adopt()
		s.info = at.row(s.info)
		r.row(typeCreated, "info", s.info, s.begin())
	} else if !sameJSON(s.info, was.info) {
		r.row(typeUpdated, "info", at.row(s.info), s.begin())
	}
	for _, m := range was.ordered() {
		r.removed(m, s.messages[m.id])
	}
	for _, m := range s.ordered() {
		if old := was.messages[m.id]; old == nil || !sameJSON(old.document(), m.document()) {
			r.message(m)
		}
	}
	return r.session, r.events
}

// AsEvents returns a session that was made in the log, such as a conversion, as the
// list of events with which opencode has it after Replay.
func AsEvents(h core.Header, es []core.Entry) []byte {
	id, events := Replay(h, es, Place{Directory: h.CWD})
	l := list{open: plainOpen, comma: plainComma, close: plainClose}
	for _, raw := range events {
		ev, _ := readEvent(raw)
		b := jsonl.AppendMember(object("id", ev.id), "aggregate_id", id)
		b = strconv.AppendInt(append(b, `,"seq":`...), ev.seq, 10)
		b = append(jsonl.AppendMember(b, "type", ev.kind), `,"data":`...)
		l.items = append(l.items, append(append(b, ev.data...), '}'))
	}
	return l.text()
}

// ownEvents returns the events that opencode wrote, from the creation of the
// session on and without gaps, or nil if the log has not all of them.
func ownEvents(h core.Header, es []core.Entry) (own []event) {
	for _, e := range es {
		ev, ok := readEvent(lineOf(e))
		if !ok {
			continue // made in the log, or aside
		}
		if ev.session != h.ID || ev.seq != int64(len(own)) || len(own) == 0 && ev.kind != typeCreated {
			return nil
		}
		own = append(own, ev)
	}
	return own
}

// A replay is a list of events in the making.
type replay struct {
	session string
	events  []json.RawMessage
}

func (r *replay) add(id, kind string, data jsjson.Value) {
	b := jsonl.AppendMember(object("id", id), "aggregateID", r.session)
	b = strconv.AppendInt(append(b, `,"seq":`...), int64(len(r.events)), 10)
	b = append(jsonl.AppendMember(b, "type", kind), `,"data":`...)
	r.events = append(r.events, append(append(b, data...), '}'))
}

// row adds an event that has a row of the session.
func (r *replay) row(kind, name string, row jsjson.Value, ms int64) {
	data := append(object("sessionID", r.session), `,"`+name+`":`...)
	data = append(data, row...)
	if kind == typePart {
		data = strconv.AppendInt(append(data, `,"time":`...), ms, 10)
	}
	r.made(kind, string(row), data, ms)
}

// made adds an event with an id that is derived from its place and seed.
func (r *replay) made(kind, seed string, data []byte, ms int64) {
	r.add(newID("evt_", order(ms, len(r.events)), r.session, strconv.Itoa(len(r.events)), seed), kind, append(data, '}'))
}

// removed adds what removes was, or those of its parts that now lacks. now is nil if
// the message is removed.
func (r *replay) removed(was, now *message) {
	data := jsonl.AppendMember(object("sessionID", r.session), "messageID", was.id)
	if now == nil {
		r.made(typeUnMessage, was.id, data, was.created)
		return
	}
	for _, p := range was.ordered() {
		if now.parts[p.id] == nil {
			r.made(typeUnPart, p.id, jsonl.AppendMember(bytes.Clone(data), "partID", p.id), was.created)
		}
	}
}

func (r *replay) message(m *message) {
	r.row(typeMessage, "info", m.info, m.created)
	for _, p := range m.ordered() {
		r.row(typePart, "part", p.row, m.created)
	}
}

// Since says what opencode on a host may have written after the log: the number
// of the log's last event, and that of the last one that is the same on every
// host, because it has no directory. ok is false if the log lacks events that
// opencode wrote.
func Since(h core.Header, es []core.Entry) (last, same int64, ok bool) {
	own := ownEvents(h, es)
	for _, ev := range own {
		if !strings.HasPrefix(ev.kind, "session.") {
			same = ev.seq
		}
	}
	return int64(len(own)) - 1, same, same > 0
}

// Grown returns those of the events that opencode wrote after the log, as a list
// that can be imported, or nil if there are none. events may have others, too;
// last and same are those of Since.
func Grown(id string, events []json.RawMessage, last, same int64) []byte {
	l := list{open: plainOpen, comma: plainComma, close: plainClose}
	some := false
	for _, raw := range events {
		ev, ok := readEvent(raw)
		if ok && ev.session == id && (ev.seq == same || ev.seq > last) {
			l.items = append(l.items, raw)
			some = some || ev.seq > last
		}
	}
	if !some {
		return nil
	}
	return l.text()
}
