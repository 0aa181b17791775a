package claude

import (
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// Summary reads the main file and the transcripts of sub-agents. Messages counts
// prompts and answers of the main file. Usage is what Meter reports, without
// what is inherited.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	s := &summarizer{set: settings{}, latest: math.NaN(), counted: map[string]bool{}, meter: meter{map[string]int64{}}}
	s.summary.Created = date.ISO(date.Parse(h.Time))
	s.changed.See(date.Parse(h.Time))
	return s
}

type summarizer struct {
	summary display.Summary
	set     settings
	latest  float64 // time of the latest message
	changed date.Latest
	counted map[string]bool // answers among the messages
	meter   meter
	usage   usage.Fold
	read    int
}

// Summary implements optional.Summarizer.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	for ; s.read < len(es); s.read++ {
		s.set.read(es[s.read])
		s.message(es[s.read])
		s.changed.See(date.Parse(es[s.read].Time))
	}
	sum := s.summary
	sum.Usage, sum.Name = s.usage.Own(), s.set.title()
	if tag := s.set["tag"]; tag != "" {
		sum.Tags = []string{tag}
	}
	sum.Modified = sum.Created
	if at := date.ISO(s.latest); s.latest > 0 && at != "" {
		sum.Modified = at
	}
	sum.Changed = s.changed.After(sum.Modified)
	return sum
}

// message reads an entry that may be a message.
func (s *summarizer) message(e core.Entry) {
	n, agent, ok := spoken(e)
	if !ok {
		return
	}
	first := true
	if n.kind == "assistant" {
		first = n.msgID == "" || !s.counted[n.answerID()]
		s.counted[n.answerID()] = true
		if u, ok := s.meter.use(&n, agent); ok {
			s.usage.Note("", u)
		}
	}
	if e.Aside {
		return
	}
	if first {
		s.summary.Messages++
	}
	if !(n.millis <= s.latest) && !math.IsNaN(n.millis) {
		s.latest = n.millis
	}
	if s.summary.First == "" && n.kind == "user" {
		s.summary.First = listing.First(promptOfUser(&n))
	}
}

// promptOfUser is what a person typed, or an empty string for what the agent
// wrote in the person's name.
func promptOfUser(n *node) string {
	if member(n.line, "isMeta").Truthy() || member(n.line, "isCompactSummary").Truthy() {
		return ""
	}
	var all []string
	for _, b := range n.blocks() {
		if b.isText() {
			all = append(all, text(b.text))
		}
	}
	s := strings.Join(all, " ")
	if strings.HasPrefix(s, "<command-") || strings.HasPrefix(s, "<local-command-") {
		return ""
	}
	return s
}
