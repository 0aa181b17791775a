package operator

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

var usageNames = listing.UsageNames{
	Input: "input_tokens", Output: "output_tokens",
	CacheRead: "cache_read_tokens", CacheWrite: "cache_write_tokens",
}

// Summary reads all branches, and the name on the current branch. First is the
// first text that a user wrote, with its blocks joined by a space. Messages
// counts the message entries. Modified is the latest time of a message of user
// or assistant that has text or an image, by the message's own timestamp or
// else the entry's; without one it is the time of the header. Usage is what the
// messages of the assistant report.
func (d Dialect) Summary(h core.Header, es []core.Entry) core.Summary {
	s := summing{Summary: core.Summary{Created: toISO(h.Time)}}
	s.Modified = s.Created
	if path, err := d.Path(es, core.Leaf{}); err == nil {
		s.Name = nameOn(path)
	}
	for _, e := range es {
		if e.Type != typeMessage {
			continue
		}
		if o, err := read(e); err == nil {
			s.Messages++
			s.message(e, o.Get("message"))
		}
	}
	return s.Summary
}

// summing is a Summary in the making.
type summing struct {
	core.Summary
	latest float64 // time of the latest message
}

func (s *summing) message(e core.Entry, message jsjson.Value) {
	m, ok := jsonl.Nested(message)
	if !ok {
		return
	}
	user, assistant := m.Get("role").Is("user"), m.Get("role").Is("assistant")
	if assistant {
		usageNames.Add(&s.Usage, m.Get("usage"))
	}
	if !user && !assistant {
		return
	}
	text, seen := visible(m.Get("contents"))
	if user && s.First == "" {
		s.First = listing.First(text)
	}
	if !seen {
		return
	}
	at := timeText(m.Get("timestamp"))
	if at == "" {
		at = e.Time
	}
	if f, ok := parseSeconds(at); ok && f > s.latest {
		if iso := toISO(at); iso != "" {
			s.latest, s.Modified = f, iso
		}
	}
}

// visible returns the text in the contents of a message, and whether there is
// a block of text or an image.
func visible(contents jsjson.Value) (text string, seen bool) {
	var texts []string
	_ = jsjson.Each(contents, func(item jsjson.Value) {
		block, ok := jsonl.Nested(item)
		if !ok {
			return
		}
		switch kind := blockType(&block); {
		case kind.Is("text"):
			seen = true
			if s, _ := block.Get("content").Text(); s != "" {
				texts = append(texts, s)
			}
		case kind.Is("image"):
			seen = true
		}
	})
	return strings.Join(texts, " "), seen
}
