package claude

import (
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
)

var usageNames = listing.UsageNames{
	Input: "input_tokens", Output: "output_tokens", CacheRead: "cache_read_input_tokens", CacheWrite: "cache_creation_input_tokens",
}

// Summary reads the main file and the transcripts of sub-agents. Messages counts
// prompts and answers of the main file. The lines of one answer share its usage,
// which counts once.
func (d Dialect) Summary(h core.Header, es []core.Entry) core.Summary {
	set := settingsOf(es)
	s := core.Summary{Name: set.title(), Created: date.ISO(date.Parse(h.Time))}
	if tag := set["tag"]; tag != "" {
		s.Tags = []string{tag}
	}
	latest := math.NaN()
	counted := map[string]bool{}
	for _, e := range es {
		n, ok := spoken(e)
		if !ok {
			continue
		}
		first := true
		if n.kind == "assistant" {
			key := n.msgID + "\x00" + text(member(n.line, "requestId"))
			first = n.msgID == "" || !counted[key]
			counted[key] = true
			if first {
				usageNames.Add(&s.Usage, member(n.message, "usage"))
			}
		}
		if e.Aside {
			continue
		}
		if first {
			s.Messages++
		}
		if !(n.millis <= latest) && !math.IsNaN(n.millis) {
			latest = n.millis
		}
		if s.First == "" && n.kind == "user" {
			s.First = listing.First(promptOfUser(&n))
		}
	}
	s.Modified = s.Created
	if at := date.ISO(latest); latest > 0 && at != "" {
		s.Modified = at
	}
	return s
}

// spoken returns the message of a user or of a model in e, of the main file or
// of a sub-agent.
func spoken(e core.Entry) (n node, ok bool) {
	line := e.Line
	if p, ours, err := envelope.Open(line); ours {
		if err != nil || !p.IsLine() || p.Pieces != 1 || p.Path == mainPath {
			return n, false // a line of the main file that is repeated, or no message
		}
		line = p.Bytes
	}
	n = parseNode(line)
	return n, n.kind == "user" && !hasResult(n.message) || n.kind == "assistant"
}

// promptOfUser is what a person typed, or an empty string for what the agent
// wrote in the person's name.
func promptOfUser(n *node) string {
	if member(n.line, "isMeta").Truthy() || member(n.line, "isCompactSummary").Truthy() {
		return ""
	}
	var all []string
	eachBlock(n.message, func(b block) {
		if s, ok := b.text.Text(); ok && b.isText() {
			all = append(all, s)
		}
	})
	s := strings.Join(all, " ")
	if strings.HasPrefix(s, "<command-") || strings.HasPrefix(s, "<local-command-") {
		return ""
	}
	return s
}
