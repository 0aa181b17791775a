package nova

import (
	"bytes"
	"crypto/sha256"

	"github.com/sesslog/sesslog/core"
)

// Fold returns the state of a session with this header after these changes, in
// order. A line that is not a change, or lacks a required member, changes nothing.
// The same is true of a state that the session had before, which an old copy of
// its file brings. A state of another session, as in a copy of a session made
// by the log, is the start of a fork.
func Fold(h core.Header, es []core.Entry) State { return fold(h, es).State }

// A folding is a state in the making.
type folding struct {
	State
	of       string  // the session of the lines so far; empty if no line names one
	changed  bool    // there was a change
	document []byte  // the file with the same content as the state, or nil
	had      history // nil if it is not needed
	states   int     // lines of type state so far
	name     string
	labels   map[string]label
}

// A history is the digests of the states that a session had.
type history map[[sha256.Size]byte]bool

// A label is what people called a line, and when.
type label struct{ text, time string }

func fold(h core.Header, es []core.Entry) *folding { return newFolding(h, es).run(h, es) }

// foldAll is fold with the history of all states.
func foldAll(h core.Header, es []core.Entry) *folding {
	f := newFolding(h, nil)
	f.had = history{}
	return f.run(h, es)
}

func (f *folding) run(h core.Header, es []core.Entry) *folding {
	for _, e := range es {
		f.take(e)
	}
	return f.end(h)
}

// newFolding returns the folding before the first line. es are the lines that are
// known to follow.
func newFolding(h core.Header, es []core.Entry) *folding {
	f := &folding{labels: map[string]label{}}
	f.SessionID, f.ForkParentID, f.Model = h.ID, h.Parent, DefaultModel
	f.CreatedAt = toNova(h.Time)
	f.LastUpdated = f.CreatedAt
	if severalStates(es, 0) {
		f.had = history{}
	}
	return f
}

// end returns the folding after the last line. More lines may be folded into f,
// but not into the result.
func (f *folding) end(h core.Header) *folding {
	if h.ID == "" || f.of == "" || f.of == h.ID {
		return f
	}
	ended := *f
	ended.fork(h.ID, toNova(h.Time), h.Parent)
	return &ended
}

// severalStates reports whether es have at least two states together with n
// earlier ones.
func severalStates(es []core.Entry, n int) bool {
	for i := range es {
		if es[i].Type == typeState {
			n++
		}
	}
	return n > 1
}

func (f *folding) take(e core.Entry) {
	if e.Type == typeState {
		f.states++
	}
	r, ok := members(e)
	if !ok {
		return
	}
	switch e.Type {
	case typeBegin:
		f.begin(r)
	case typeState:
		f.takeState(e)
	case typeName:
		f.name = r.text("name", "")
	case typeLabel:
		f.label(r, e.Time)
	default:
		if f.change(e, r) {
			f.document, f.changed = nil, true
			f.touch(e.Time)
			f.remember()
		}
	}
}

// begin sets the session of the lines that follow. If it differs from the
// current one, the session is a fork.
func (f *folding) begin(r *reader) {
	id, created, parent := r.required("session_id"), r.text("created_at", ""), r.text("parent", "")
	if r.err != nil || f.of == id {
		return
	}
	if f.of == "" && (parent == "" || !f.changed) {
		f.of, f.SessionID, f.CreatedAt, f.ForkParentID = id, id, created, parent
		if f.LastUpdated == "" {
			f.LastUpdated = created
		}
		return
	}
	f.fork(id, created, parent)
}

// fork continues the state as the session called id.
func (f *folding) fork(id, created, parent string) {
	f.State = f.State.Fork(id, created)
	f.of, f.ForkParentID, f.document = id, parent, nil
}

func (f *folding) takeState(e core.Entry) {
	doc, s, err := readState(e)
	if err != nil || f.hadBefore(s) {
		return
	}
	forks := f.ForkCount
	if f.of != s.SessionID {
		forks = 0
	}
	f.State, f.of, f.document = s, s.SessionID, doc
	if forks > max(s.ForkCount, 0) { // Nova does not count forks, the log does
		f.ForkCount, f.document = forks, nil
	}
	f.remember()
}

func (f *folding) remember() {
	if f.had != nil {
		f.had[sha256.Sum256(f.Dict())] = true
	}
}

func (f *folding) hadBefore(s State) bool { return f.had != nil && f.had[sha256.Sum256(s.Dict())] }

func (f *folding) label(r *reader, time string) {
	target, s := r.text("target", ""), r.text("label", "")
	if s == "" {
		delete(f.labels, target)
		return
	}
	f.labels[target] = label{s, time}
}

func (f *folding) touch(time string) {
	if _, ok := ParseTime(time); ok {
		f.LastUpdated = toNova(time)
	}
}

// change applies the change of e, and reports whether e has one.
func (f *folding) change(e core.Entry, r *reader) bool {
	switch e.Type {
	case typeTask:
		return f.takeTask(e, r)
	case typeDecision:
		d, ok := decisionOf(e, r)
		if ok {
			f.addDecision(d)
		}
		return ok
	case typeArtifact:
		name, path := r.required("name"), r.required("path")
		if r.err == nil {
			f.addArtifact(name, path)
		}
	case typeTokens:
		n := r.number("count")
		if r.err == nil {
			f.addTokens(n)
		}
	case typeUpdate:
		u, err := r.updates()
		if err == nil {
			u.apply(&f.State)
		}
		return err == nil
	case typeCompress:
		l := Limits{Decisions: int(min(r.number("max_decisions"), 1<<30)), Tokens: r.number("max_tokens")}
		if r.err == nil {
			f.compress(l, toNova(e.Time))
		}
	case typeForked:
		r.required("child")
		if r.err == nil {
			f.ForkCount = plus(f.ForkCount, 1)
		}
	default:
		return false
	}
	return r.err == nil
}

func (f *folding) takeTask(e core.Entry, r *reader) bool {
	turns := int64(1)
	if r.get("turns") != nil {
		turns = r.number("turns")
	}
	if r.err != nil {
		return false
	}
	if r.get("decision") != nil {
		d, ok := decisionOf(e, r)
		if !ok {
			return false
		}
		f.addDecision(d)
	}
	f.addTurns(turns)
	return true
}

// decisionOf reads the decision of a line. A decision without a time has the
// time of the line.
func decisionOf(e core.Entry, r *reader) (Decision, bool) {
	var d Decision
	v := r.get("decision")
	r.object("decision", v, func(in *reader) { d = in.decision(v) })
	if v == nil || r.err != nil {
		return d, false
	}
	if d.Timestamp == "" {
		d.Timestamp = toNova(e.Time)
	}
	return d, true
}

// readState returns the file that a state's line holds, and its state.
func readState(e core.Entry) ([]byte, State, error) {
	r, ok := members(e)
	if !ok {
		return nil, State{}, core.ErrInvalid
	}
	doc := []byte(r.get("state"))
	if s := r.text("text", ""); s != "" {
		doc = []byte(s)
	} else {
		doc = append(bytes.Clone(doc), '\n')
	}
	s, err := ReadDict(doc)
	return doc, s, err
}
