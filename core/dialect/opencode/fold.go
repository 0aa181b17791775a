package opencode

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A state is what the entries of a session fold into.
type state struct {
	header   core.Header
	info     jsjson.Value // the row of the session; nil before the first
	infoAt   int          // the entry that has it
	messages map[string]*message
	rows     map[string][]*message // of the entries of exports, by their ids
	name     string                // given in the log, unless a later row has a title
	calls    map[string]callAt     // by the id of the call
	synth    synthesizer
	n        int // entries so far
}

// A callAt is where a call of a tool is.
type callAt struct{ message, part string }

// A message is a row of the session, with its parts.
type message struct {
	id      string
	info    jsjson.Value // nil if only parts are known so far
	role    string
	created int64
	at      int // the entry that has the row
	parts   map[string]*part
}

// A part is a row of a message.
type part struct {
	id   string
	kind string
	row  jsjson.Value
	at   int // the entry that has the row
	from int // the entry that has the rest of it, if that is another
}

func newState(h core.Header) *state {
	return &state{
		header: h, infoAt: -1, messages: map[string]*message{}, rows: map[string][]*message{},
		calls: map[string]callAt{}, synth: synthesizer{session: sessionID(h)},
	}
}

// fold returns what es fold into. h may be the zero header if no entry made
// in the log has to be completed.
func fold(h core.Header, es []core.Entry) *state {
	s := newState(h)
	for i := range es {
		s.take(es[i])
	}
	return s
}

// take folds the next entry. An entry that cannot be read changes nothing.
func (s *state) take(e core.Entry) {
	at := s.n
	s.n++
	if e.Aside {
		if e.Type == typeName {
			s.name = text(e.Line, "name")
		}
		return
	}
	line := lineOf(e)
	switch e.Type {
	case typeMessages:
		s.takeMessages(e, line, at)
	case typeResult:
		s.takeResult(line, at)
	case typeExport:
		s.takeExport(line, at)
	default:
		s.takeEvent(e.Type, member(line, "data"), at)
	}
}

func (s *state) takeEvent(kind string, data jsjson.Value, at int) {
	switch kind {
	case typeCreated, typeUpdated, typeDeleted:
		s.setInfo(member(data, "info"), at)
	case typeMessage:
		s.putMessage(member(data, "info"), at)
	case typeUnMessage:
		delete(s.messages, text(data, "messageID"))
	case typePart:
		s.putPart(member(data, "part"), at)
	case typeUnPart:
		if m := s.messages[text(data, "messageID")]; m != nil {
			delete(m.parts, text(data, "partID"))
		}
	}
}

func (s *state) setInfo(info jsjson.Value, at int) {
	if info.Kind() != '{' {
		return
	}
	if text(info, "title") != text(s.info, "title") {
		s.name = "" // it is newer
	}
	s.info, s.infoAt = info, at
}

// message returns the message called id, which is made if there is none.
func (s *state) message(id string) *message {
	m := s.messages[id]
	if m == nil {
		m = &message{id: id, parts: map[string]*part{}}
		s.messages[id] = m
	}
	return m
}

func (s *state) putMessage(info jsjson.Value, at int) {
	id := text(info, "id")
	if id == "" {
		return
	}
	m := s.message(id)
	m.set(info, at)
	s.saw(m)
}

func (m *message) set(info jsjson.Value, at int) {
	m.info, m.at, m.role, m.created = info, at, text(info, "role"), millis(info, "time", "created")
}

// saw notes what a message says of the session.
func (s *state) saw(m *message) {
	s.synth.latest = max(s.synth.latest, m.created)
	if m.role == "user" {
		s.synth.user = m.id
	}
}

func (s *state) putPart(row jsjson.Value, at int) {
	id, of := text(row, "id"), text(row, "messageID")
	if id == "" || of == "" {
		return
	}
	s.setPart(s.message(of), &part{id, text(row, "type"), row, at, at})
}

func (s *state) setPart(m *message, p *part) {
	m.parts[p.id] = p
	if p.kind == "tool" {
		s.calls[text(p.row, "callID")] = callAt{m.id, p.id}
	}
}

// begin is when the session was made. What came before is a copy: the agent
// forks a session by copying messages, and so does the log.
func (s *state) begin() int64 { return beginOf(s.header) }

func beginOf(h core.Header) int64 {
	if ms := date.Parse(h.Time); ms > 0 {
		return int64(ms)
	}
	return 0
}

// takeExport makes the messages of an export the session. Their rows are in
// entries before it.
func (s *state) takeExport(line jsjson.Value, at int) {
	s.setInfo(member(line, "info"), at)
	kept := map[string]*message{}
	_ = jsjson.Each(member(line, "rows"), func(v jsjson.Value) {
		id, _ := v.Text()
		for _, m := range s.rows[id] {
			kept[m.id] = m.clone()
		}
	})
	s.messages = kept
}

func (m *message) clone() *message {
	c := *m
	c.parts = maps.Clone(m.parts)
	return &c
}

// ordered returns the messages in opencode's order. Parts whose message is not
// known are left out.
func (s *state) ordered() []*message {
	all := make([]*message, 0, len(s.messages))
	for _, m := range s.messages {
		if m.info != nil {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
	})
	return all
}

// ordered returns the parts in opencode's order.
func (m *message) ordered() []*part {
	all := make([]*part, 0, len(m.parts))
	for _, p := range m.parts {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *part) int { return strings.Compare(a.id, b.id) })
	return all
}

// title is the name of the session.
func (s *state) title() string {
	if s.name != "" {
		return s.name
	}
	return text(s.info, "title")
}
