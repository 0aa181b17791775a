package opencode

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// own is what only opencode's sessions have.
type own struct {
	Agent    string `json:"agent,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Version  string `json:"version,omitempty"`
	Slug     string `json:"slug,omitempty"`
	Project  string `json:"project,omitempty"`
	Parent   string `json:"parentSession,omitempty"`
	Reverted string `json:"reverted,omitempty"` // the first message that is
	Messages int    `json:"messages"`           // that are not
}

// Info describes the session whose leaf is leaf. Its name is the title. Returns
// core.ErrNotFound if leaf names no entry that has a place in the tree.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	upto, err := entriesTo(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := envelope.ChainInfo(h, es)
	if id, ok := (Dialect{}).Leaf(upto).ID(); ok {
		info.LeafID = &id
	}
	s := fold(h, upto)
	if title := fold(h, es).title(); title != "" {
		info.Name = &title
	}
	if cwd := text(s.info, "directory"); cwd != "" && sessionID(h) == text(s.info, "id") {
		info.CWD = cwd
	}
	info.Own, err = json.Marshal(own{
		Agent: text(s.info, "agent"), Provider: text(s.info, "model", "providerID"), Model: text(s.info, "model", "id"),
		Version: text(s.info, "version"), Slug: text(s.info, "slug"), Project: text(s.info, "projectID"),
		Parent: text(s.info, "parentID"), Reverted: text(s.info, "revert", "messageID"), Messages: len(s.current()),
	})
	return info, err
}

// Summary describes the session. First is the first text that a user wrote.
// Messages counts those of users and models that are not reverted. Usage is that
// of all answers that were made in this session, also of those that were
// reverted, but not of messages that a fork copied.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (Dialect) Summarizer(h core.Header) optional.Summarizer {
	return &summarizer{newState(h), usage.NewFold(Dialect{}, h)}
}

type summarizer struct {
	state *state
	used  *usage.Fold
}

// Summary implements optional.Summarizer.
func (z *summarizer) Summary(es []core.Entry) display.Summary {
	s := z.state
	z.used.Add(es[s.n:]...)
	for _, e := range es[s.n:] {
		s.take(e)
	}
	sum := display.Summary{Name: s.title(), Created: isoTime(s.begin())}
	latest := s.begin()
	for _, m := range s.current() {
		sum.Messages++
		latest = max(latest, m.created, millis(m.info, "time", "completed"))
		if sum.First == "" && m.role == "user" {
			sum.First = listing.First(m.prompt())
		}
	}
	sum.Modified = isoTime(latest)
	if at := millis(s.info, "time", "updated"); at > latest {
		sum.Changed = isoTime(at)
	}
	sum.Usage = z.used.Own()
	return sum
}

// prompt is what a user wrote.
func (m *message) prompt() string {
	var all []byte
	for _, p := range m.ordered() {
		s := text(p.row, "text")
		if p.kind != "text" || s == "" || member(p.row, "synthetic").Truthy() {
			continue
		}
		if all != nil {
			all = append(all, ' ')
		}
		all = append(all, s...)
	}
	return string(all)
}
