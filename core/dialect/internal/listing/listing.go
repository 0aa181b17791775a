package listing

import (
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

var usageNames = UsageNames{"input", "output", "cacheRead", "cacheWrite"}

// Of reads all branches. First is the first text that a user wrote, with text
// blocks joined by a space. Messages counts the message entries. Modified is
// the latest time of a message of user or assistant, by the message's own
// timestamp or else the entry's; without one it is the time of the header.
// Usage is what the assistant messages report and the entries of type
// usageType, which is empty if there is no such type.
func Of(h core.Header, es []core.Entry, usageType string) core.Summary {
	s := summing{latest: math.NaN()}
	created := date.Of(core.Entry{Line: h.Line, Time: h.Time})
	s.Created = date.ISO(created)
	for i := range es {
		switch es[i].Type {
		case "message":
			s.Messages++
			s.message(es[i])
		case "":
		case usageType:
			if o, err := jsonl.Object(es[i]); err == nil {
				usageNames.Add(&s.Usage, o.Get("usage"))
			}
		}
	}
	s.Modified = s.Created
	if at := date.ISO(s.latest); s.latest > 0 && at != "" {
		s.Modified = at
	}
	return s.Summary
}

// summing is a Summary in the making.
type summing struct {
	core.Summary
	latest float64 // time of the latest message, NaN before the first
}

func (s *summing) message(e core.Entry) {
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
	if at := activity(e, &m); !(at <= s.latest) && !math.IsNaN(at) {
		s.latest = at
	}
	if assistant {
		usageNames.Add(&s.Usage, m.Get("usage"))
	}
	if user && s.First == "" {
		s.First = First(plainText(m.Get("content")))
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
