package opencode

import (
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// adopt makes s the session that its header names, as opencode would have made
// it: with a row of the session, and in a copy, such as a fork, with ids of its
// own, because ids are unique in opencode's database.
func (s *state) adopt() {
	id := s.synth.session
	of := text(s.info, "id")
	if of != id {
		s.rename(of == "" && len(s.messages) == 0)
		s.info = s.newInfo(id)
	}
	if s.name != "" {
		s.info = jsonl.WithText(s.info, "title", s.name)
	}
}

// rename gives new ids to all rows, in their order.
func (s *state) rename(empty bool) {
	if empty {
		return
	}
	ids := map[string]string{}
	all := s.ordered()
	for i, m := range all {
		ids[m.id] = newID("msg_", order(m.created, i), s.synth.session, m.id)
	}
	id := func(old string) string {
		if made, ok := ids[old]; ok {
			return made
		}
		return old
	}
	renamed := map[string]*message{}
	for _, m := range all {
		r := &message{id: ids[m.id], role: m.role, created: m.created, at: m.at, parts: map[string]*part{}}
		r.info = jsonl.WithText(jsonl.WithText(m.info, "id", r.id), "sessionID", s.synth.session)
		r.info = jsonl.WithText(r.info, "parentID", id(text(m.info, "parentID")))
		for i, p := range m.ordered() {
			q := &part{kind: p.kind, at: p.at, from: p.from, id: newID("prt_", order(m.created, i), s.synth.session, p.id)}
			q.row = jsonl.WithText(jsonl.WithText(p.row, "id", q.id), "sessionID", s.synth.session)
			q.row = jsonl.WithText(q.row, "messageID", r.id)
			if tail := text(p.row, "tail_start_id"); tail != "" {
				q.row = jsonl.WithText(q.row, "tail_start_id", id(tail))
			}
			r.parts[q.id] = q
		}
		renamed[r.id] = r
	}
	if from := text(s.info, "revert", "messageID"); from != "" {
		s.info = jsonl.WithTextIn(s.info, "revert", "messageID", id(from))
	}
	s.messages = renamed
}

// newInfo returns the row of the session called id. What the row of the session
// that it is a copy of says stays, unless it is of that session alone.
func (s *state) newInfo(id string) jsjson.Value {
	cwd := s.header.CWD
	began := strconv.FormatInt(s.begin(), 10)
	updated := strconv.FormatInt(max(s.begin(), s.synth.latest), 10)
	times := []byte(`{"created":` + began + `,"updated":` + updated + `}`)
	if s.info != nil {
		info := s.info
		for _, name := range []string{"id", "parentID", "share", "time"} {
			info = jsonl.Without(info, name)
		}
		info = jsonl.Complete(info, jsonl.Member{Name: "id", Value: jsjson.AppendString(nil, id)}, jsonl.Member{Name: "time", Value: times})
		if cwd != "" {
			info = Place{Directory: cwd}.row(info)
		}
		return info
	}
	title := s.name
	if title == "" {
		title = "Session " + isoTime(max(s.begin(), 1))
	}
	b := object("id", id)
	b = jsonl.AppendMember(b, "slug", "session-"+id[max(0, len(id)-8):])
	b = jsonl.AppendMember(b, "projectID", globalProjectID)
	b = jsonl.AppendMember(b, "directory", cwd)
	b = jsonl.AppendMember(b, "path", strings.TrimPrefix(cwd, "/"))
	b = jsonl.AppendMember(b, "title", title)
	b = jsonl.AppendMember(b, "version", writtenVersion)
	b = append(b, `,"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"time":`...)
	return append(append(b, times...), '}')
}
