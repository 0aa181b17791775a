package operator

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/optional"
)

// Summary reads all branches, and the name on the current branch. First is the
// first text that a user wrote, with its blocks joined by a space. Messages
// counts the message entries. Modified is the latest time of a message of user
// or assistant that has text or an image, by the message's own timestamp or
// else the entry's; without one it is the time of the header. Usage is what the
// messages of the assistant report.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	s := &summarizer{ids: map[string]bool{}}
	s.summary.Created = toISO(h.Time)
	s.summary.Modified = s.summary.Created
	s.changed = s.summary.Created
	return s
}

type summarizer struct {
	summary display.Summary
	latest  float64 // time of the latest message
	changed string  // time of the last entry
	read    int
	ids     map[string]bool // of the entries read
	leaf    string          // where the current branch ends; empty if unknown
	named   bool            // an entry names a branch
}

// Summary implements optional.Summarizer. It looks for the name on the whole branch
// again if the new entries do not continue the current one.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	continued := true
	for i := s.read; i < len(es); i++ {
		s.changed = max(s.changed, toISO(es[i].Time))
		continued = s.entry(es[i]) && continued
	}
	s.read = len(es)
	if !continued {
		s.branch(es)
	}
	sum := s.summary
	if s.changed > sum.Modified {
		sum.Changed = s.changed
	}
	return sum
}

// entry reads the next entry, and reports whether it continues the current
// branch.
func (s *summarizer) entry(e core.Entry) (continues bool) {
	if isHeader(e.Type) {
		return true
	}
	o, err := read(e)
	if err == nil && e.Type == typeMessage {
		s.summary.Messages++
		s.message(e, o.Get("message"))
	}
	continues = err == nil && e.Type != typeLeaf && e.ID != "" && !s.ids[e.ID] && s.leaf != "" && e.Parent == s.leaf
	s.ids[e.ID] = true
	if !continues {
		s.leaf = ""
	}
	if err == nil && e.Type == typeInfo {
		s.named = true
		if name := nameOn([]core.Entry{e}); name != "" && continues {
			s.summary.Name = name
		}
	}
	if continues {
		s.leaf = e.ID
	}
	return continues
}

// branch finds the current branch of es, and its name.
func (s *summarizer) branch(es []core.Entry) {
	s.leaf, s.summary.Name = "", ""
	at, leaf := currentLeaf(es)
	if id, ok := leaf.ID(); ok && at >= 0 && es[at].ID == id && isReadable(es[at]) {
		s.leaf = id // and not where a leaf entry points to
	}
	if !s.named {
		return
	}
	if path, err := (Dialect{}).Path(es, core.Leaf{}); err == nil {
		s.summary.Name = nameOn(path)
	}
}

func (s *summarizer) message(e core.Entry, message jsjson.Value) {
	m, ok := jsonl.Nested(message)
	if !ok {
		return
	}
	user, assistant := m.Get("role").Is("user"), m.Get("role").Is("assistant")
	if u, ok := usageNames.Use("", m.Get("usage")); ok && assistant {
		u.AddTo(&s.summary.Usage)
	}
	if !user && !assistant {
		return
	}
	text, seen := visible(m.Get("contents"))
	if user && s.summary.First == "" {
		s.summary.First = listing.First(text)
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
			s.latest, s.summary.Modified = f, iso
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
