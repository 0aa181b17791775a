package opencode

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A synthesizer completes the messages that were made in the log.
type synthesizer struct {
	session  string
	latest   int64  // the time of the latest message
	count    int    // messages made
	user     string // the id of the last message of a user
	provider string // that answered last
	model    string
}

// idPrefix begins the ids of all sessions of opencode.
const idPrefix = "ses_"

// sessionID is the session's id as opencode takes it: that of the header if it
// has the form, otherwise one derived from it.
func sessionID(h core.Header) string {
	if strings.HasPrefix(h.ID, idPrefix) || h.ID == "" {
		return h.ID
	}
	ms := max(0, date.Parse(h.Time))
	if ms != ms {
		ms = 0
	}
	return newID(idPrefix, ^uint64(int64(ms)*idsPerMilli), h.ID)
}

// idsPerMilli is how many ids opencode has for a millisecond.
const idsPerMilli = 1 << 12

// newID makes an id of opencode's form: what it sorts by, 48 bits in hex, and 14
// letters and digits, which are derived from seed.
func newID(prefix string, order uint64, seed ...string) string {
	h := sha256.New()
	for _, s := range seed {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := h.Sum(nil)
	a, b := binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])
	var tail [14]byte
	for i := range tail {
		if i == 10 { // a word has about ten digits of this base
			a = b
		}
		tail[i] = digits[a%62]
		a /= 62
	}
	return fmt.Sprintf("%s%012x%s", prefix, order&(1<<48-1), tail[:])
}

// order is what the n-th id of a millisecond sorts by. Ids of messages whose
// times are the same sort by n.
func order(ms int64, n int) uint64 { return uint64(ms)*idsPerMilli + uint64(n) + 1 }

// takeMessages folds an entry that has whole messages: of an export, or made in the
// log, which lack ids and much else.
func (s *state) takeMessages(e core.Entry, line jsjson.Value, at int) {
	var all []*message
	n := 0
	_ = jsjson.Each(member(line, "messages"), func(v jsjson.Value) {
		m := s.row(e, v, n, at)
		n++
		if m != nil {
			all = append(all, m)
		}
	})
	if e.ID != "" {
		s.rows[e.ID] = all
	}
}

// row folds one message with its parts, which replace those that it had, and
// returns it as the entry has it.
func (s *state) row(e core.Entry, v jsjson.Value, n, at int) *message {
	info := member(v, "info")
	if info.Kind() != '{' {
		return nil
	}
	m := &message{parts: map[string]*part{}}
	if m.id = text(info, "id"); m.id == "" {
		info = s.synth.complete(info, e, n)
		m.id = text(info, "id")
	}
	m.set(info, at)
	s.saw(m)
	_ = jsjson.Each(member(v, "parts"), func(row jsjson.Value) {
		if row.Kind() != '{' {
			return
		}
		if text(row, "id") == "" {
			row = s.synth.completePart(row, m)
		}
		s.setPart(m, &part{text(row, "id"), text(row, "type"), row, at, at})
	})
	s.messages[m.id] = m.clone()
	return m
}

// complete returns info with what opencode requires of a message.
func (s *synthesizer) complete(info jsjson.Value, e core.Entry, n int) jsjson.Value {
	ms := max(s.latest, int64(max(0, date.Parse(e.Time))))
	s.latest = ms
	s.count++
	id := newID("msg_", order(ms, s.count), s.session, e.ID, strconv.Itoa(n))
	quoted := func(s string) []byte { return jsjson.AppendString(nil, s) }
	number := strconv.FormatInt(ms, 10)
	if member(info, "role").Is("user") {
		return jsonl.Complete(info,
			jsonl.Member{Name: "time", Value: []byte(`{"created":` + number + `}`)},
			jsonl.Member{Name: "agent", Value: []byte(`"build"`)},
			jsonl.Member{Name: "model", Value: []byte(`{"providerID":` + string(quoted(cmp.Or(s.provider, "unknown"))) + `,"modelID":` + string(quoted(cmp.Or(s.model, "unknown"))) + `}`)},
			jsonl.Member{Name: "id", Value: quoted(id)},
			jsonl.Member{Name: "sessionID", Value: quoted(s.session)})
	}
	if model := text(info, "modelID"); model != "" {
		s.provider, s.model = text(info, "providerID"), model
	}
	return jsonl.Complete(info,
		jsonl.Member{Name: "parentID", Value: quoted(s.user)},
		jsonl.Member{Name: "mode", Value: []byte(`"build"`)},
		jsonl.Member{Name: "agent", Value: []byte(`"build"`)},
		jsonl.Member{Name: "path", Value: []byte(`{"cwd":"/","root":"/"}`)},
		jsonl.Member{Name: "cost", Value: []byte("0")},
		jsonl.Member{Name: "tokens", Value: []byte(`{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}`)},
		jsonl.Member{Name: "modelID", Value: quoted(cmp.Or(s.model, "unknown"))},
		jsonl.Member{Name: "providerID", Value: quoted(cmp.Or(s.provider, "unknown"))},
		jsonl.Member{Name: "time", Value: []byte(`{"created":` + number + `,"completed":` + number + `}`)},
		jsonl.Member{Name: "id", Value: quoted(id)},
		jsonl.Member{Name: "sessionID", Value: quoted(s.session)})
}

func (s *synthesizer) completePart(row jsjson.Value, m *message) jsjson.Value {
	n := len(m.parts)
	return s.identified(row, newID("prt_", order(m.created, n), m.id, strconv.Itoa(n)), m)
}

// identified returns a row with the ids it lacks.
func (s *synthesizer) identified(row jsjson.Value, id string, m *message) jsjson.Value {
	return jsonl.Complete(row,
		jsonl.Member{Name: "id", Value: jsjson.AppendString(nil, id)},
		jsonl.Member{Name: "sessionID", Value: jsjson.AppendString(nil, s.session)},
		jsonl.Member{Name: "messageID", Value: jsjson.AppendString(nil, m.id)})
}

// takeResult gives the result that e holds to the newest call with its id.
// Without one it changes nothing.
func (s *state) takeResult(line jsjson.Value, at int) {
	call, ok := s.calls[text(line, "callID")]
	m := s.messages[call.message]
	if !ok || m == nil || m.parts[call.part] == nil {
		return
	}
	p := *m.parts[call.part]
	p.from = p.at
	p.row, p.at = withState(p.row, s.synth.attached(answered(member(p.row, "state"), line, max(m.created, 1)), &p, m)), at
	m.parts[p.id] = &p
}

// attached returns the state of the call p with what opencode requires of each
// attachment.
func (s *synthesizer) attached(state jsjson.Value, p *part, m *message) jsjson.Value {
	files := member(state, "attachments")
	if files.Kind() != '[' {
		return state
	}
	var all []byte
	n := 0
	_ = jsjson.Each(files, func(v jsjson.Value) {
		if v.Kind() != '{' {
			return
		}
		n++
		all = append(append(all, ','), s.identified(v, newID("prt_", order(m.created, n), p.id, strconv.Itoa(n)), m)...)
	})
	if n == 0 {
		return state
	}
	all[0] = '['
	o, err := jsjson.ParseObject(state)
	if err != nil {
		return state
	}
	o.Set("attachments", append(all, ']'))
	b, err := o.Append(nil)
	if err != nil {
		return state
	}
	return b
}

// withState returns the row of a call with another state.
func withState(row, state jsjson.Value) jsjson.Value {
	o, err := jsjson.ParseObject(row)
	if err != nil {
		return row
	}
	o.Set("state", state)
	b, err := o.Append(nil)
	if err != nil {
		return row
	}
	return b
}

// answered returns the state of a call that has the result in line.
func answered(state, line jsjson.Value, ms int64) jsjson.Value {
	input := member(state, "input")
	if input.Kind() != '{' {
		input = jsjson.Value("{}")
	}
	times := `{"start":` + strconv.FormatInt(ms, 10) + `,"end":` + strconv.FormatInt(ms, 10) + `}`
	if failed, ok := member(line, "error").Text(); ok {
		b := append([]byte(`{"status":"error","input":`), input...)
		b = jsonl.AppendMember(b, "error", failed)
		return append(b, `,"time":`+times+`}`...)
	}
	b := append([]byte(`{"status":"completed","input":`), input...)
	b = jsonl.AppendMember(b, "output", text(line, "output"))
	b = append(b, `,"title":"","metadata":{},"time":`+times...)
	if files := member(line, "attachments"); files.Kind() == '[' {
		b = append(append(b, `,"attachments":`...), files...)
	}
	return append(b, '}')
}
