package listing

import (
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A Listing makes the summary of a session, entry by entry, of all branches.
// First is the first text that a user wrote, with text blocks joined by a
// space. Messages counts the message entries. Modified is the latest time of a
// message of user or assistant, by the message's own timestamp or else the
// entry's; without one it is the time of the header. Changed is the latest time
// of header and entries. Usage is what the assistant messages report and
// the entries of one more type.
type Listing struct {
	summary   display.Summary
	usageType string
	latest    float64 // time of the latest message, NaN before the first
	changed   date.Latest
	read      int
}

// New returns the Listing of a session without entries. Entries of type
// usageType report usage; it is empty if there is no such type.
func New(h core.Header, usageType string) *Listing {
	l := &Listing{usageType: usageType, latest: math.NaN()}
	created := date.Of(core.Entry{Line: h.Line, Time: h.Time})
	l.summary.Created = date.ISO(created)
	l.changed.See(created)
	return l
}

// Read reads the entries of es after those of the previous call, which es
// begins with, and returns them.
func (l *Listing) Read(es []core.Entry) (added []core.Entry) {
	added = es[l.read:]
	l.read = len(es)
	for i := range added {
		l.changed.See(date.Parse(added[i].Time))
		switch added[i].Type {
		case "message":
			l.summary.Messages++
			l.message(added[i])
		case "":
		case l.usageType:
			if o, err := jsonl.Object(added[i]); err == nil {
				l.use(&o)
			}
		}
	}
	return added
}

// Summary returns the summary of the entries read.
func (l *Listing) Summary() display.Summary {
	s := l.summary
	s.Modified = s.Created
	if at := date.ISO(l.latest); l.latest > 0 && at != "" {
		s.Modified = at
	}
	s.Changed = l.changed.After(s.Modified)
	return s
}

func (l *Listing) message(e core.Entry) {
	o, err := jsonl.Object(e)
	if err != nil {
		return
	}
	m, ok := jsonl.Nested(o.Get("message"))
	if !ok {
		return
	}
	user, assistant := m.Get("role").Is("user"), m.Get("role").Is("assistant")
	if !user && !assistant {
		return
	}
	if at := activity(e, &m); !(at <= l.latest) && !math.IsNaN(at) {
		l.latest = at
	}
	if assistant {
		l.use(&m)
	}
	if user && l.summary.First == "" {
		l.summary.First = First(plainText(m.Get("content")))
	}
}

// use adds the usage that an answer reports.
func (l *Listing) use(answer *jsjson.Object) {
	for _, u := range usesOf(answer) {
		u.AddTo(&l.summary.Usage)
	}
}

// activity is when a message was sent, or NaN if unknown.
func activity(e core.Entry, m *jsjson.Object) float64 {
	if m.Get("content") == nil {
		return math.NaN()
	}
	if f, ok := m.Get("timestamp").Number(); ok {
		return f
	}
	return date.Of(e)
}

// plainText is the text in the content of a message.
func plainText(content jsjson.Value) string {
	if s, ok := jsonl.Text(content); ok {
		return s
	}
	var texts []string
	_ = jsjson.Each(content, func(item jsjson.Value) {
		block, ok := jsonl.Nested(item)
		if !ok || !block.Get("type").Is("text") {
			return
		}
		if s, ok := jsonl.Text(block.Get("text")); ok {
			texts = append(texts, s)
		}
	})
	return strings.Join(texts, " ")
}
