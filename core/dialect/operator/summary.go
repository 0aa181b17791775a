package operator

import (
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// firstLength is how many characters of the first user message are kept.
const firstLength = 200

// Summary reads all branches, and the name on the branch where es stands.
// First is the first text that a user wrote, its blocks joined by a space.
// Messages counts the message entries. Modified is the latest time of a message
// of user or assistant that has text or an image, by the message's own
// timestamp before the entry's, else the time of the header. Usage is what the
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
	m, ok := nested(message)
	if !ok {
		return
	}
	user, assistant := m.Get("role").Is("user"), m.Get("role").Is("assistant")
	if assistant {
		s.addUsage(m.Get("usage"))
	}
	if !user && !assistant {
		return
	}
	text, seen := visible(m.Get("contents"))
	if user && s.First == "" {
		s.First = cut(text, firstLength)
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
		block, ok := nested(item)
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

// cut returns the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func (s *summing) addUsage(v jsjson.Value) {
	o, ok := nested(v)
	if !ok {
		return
	}
	u := &s.Usage
	u.Input += count(o.Get("input_tokens"))
	u.Output += count(o.Get("output_tokens"))
	u.CacheRead += count(o.Get("cache_read_tokens"))
	u.CacheWrite += count(o.Get("cache_write_tokens"))
	if cost, ok := nested(o.Get("cost")); ok {
		if f, ok := cost.Get("total").Number(); ok && math.Abs(f) <= maxCost {
			u.Cost += f
		}
	}
}

// maxCost is more than any answer costs; beyond it a number is no cost, and what
// is below it has a finite sum.
const maxCost = 1e15

// maxCount is more tokens than there are; beyond it a number is no count.
const maxCount = 1 << 53

// count is v as a count, 0 where it is none.
func count(v jsjson.Value) int64 {
	f, ok := v.Number()
	if !ok || math.Abs(f) > maxCount {
		return 0
	}
	return int64(f)
}
