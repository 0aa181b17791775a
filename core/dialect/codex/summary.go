package codex

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// Summary describes the session's current history. First is the first text that
// a user wrote in it. Messages counts the messages of users and models. Usage is
// what Meter reports, without what is inherited.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	return d.Summarizer(h).Summary(es)
}

// Summarizer implements optional.Summarizing.
func (d Dialect) Summarizer(h core.Header) optional.Summarizer {
	s := &summarizer{header: h, usage: usage.NewFold(d, h)}
	s.changed.See(date.Parse(h.Time))
	return s
}

type summarizer struct {
	header core.Header
	usage  *usage.Fold
	name   string
	// changed is the time of the last line, of any file and of the index of names.
	changed date.Latest
	read    int
	// listed has the first message, the number of messages and the time of the
	// latest one in the history, which ends with the file newest.
	listed display.Summary
	newest string
	isOpen bool // the last line of that file had no newline
	loose  bool // the history has no file
}

// Summary implements optional.Summarizer. If the new entries do not only continue the
// history, it reads all of it again.
func (s *summarizer) Summary(es []core.Entry) display.Summary {
	added := es[s.read:]
	s.usage.Add(added...)
	continued := s.read > 0
	for _, e := range added {
		s.name = nameAfter(s.name, e)
		s.changed.See(date.Parse(e.Time))
		continued = continued && s.next(e)
	}
	s.read = len(es)
	if !continued {
		s.list(es)
	}
	sum := s.listed
	sum.Name, sum.Changed, sum.Usage = s.name, s.changed.After(sum.Modified), s.usage.Own()
	return sum
}

// next reads the next entry, and reports false if it may change the history
// before it.
func (s *summarizer) next(e core.Entry) bool {
	p, ours, err := envelope.Open(e.Line)
	switch {
	case err != nil:
		return false
	case !ours && e.Aside, p.IsFile():
		return true
	case !ours:
		s.line(rolloutLine{Entry: e, bytes: e.Line, made: true})
		return s.loose || s.newest != ""
	case p.Pieces != 1 || s.loose:
		return false
	case p.IsOpen():
		s.isOpen = s.isOpen || p.Path == s.newest
		return true
	case e.Aside:
		return p.Path != s.newest
	case p.Path != s.newest || s.isOpen:
		return false
	}
	s.line(rolloutLine{Entry: e, bytes: p.Bytes})
	return true
}

// list reads the whole history.
func (s *summarizer) list(es []core.Entry) {
	created := date.ISO(date.Parse(s.header.Time))
	s.listed = display.Summary{Created: created, Modified: created}
	s.newest, s.isOpen, s.loose = "", false, false
	t, err := readThread(es)
	if err != nil {
		return
	}
	if r := t.newest(); r != nil && t.isLast(r) {
		s.newest, s.isOpen = r.path, endsOpen(es, r.path)
	}
	s.loose = len(t.rollouts) == 0
	for _, l := range t.history() {
		s.line(l)
	}
}

func (s *summarizer) line(l rolloutLine) {
	for _, it := range sentBy(l) {
		s.listed = withMessage(s.listed, l.Time, it)
	}
}

// isLast reports whether r stays the newest file if a line is added to it.
func (t *thread) isLast(r *rollout) bool {
	for _, o := range t.rollouts {
		if b := o.meta.base; o.own && b != nil && b.thread == r.meta.thread && o.meta.thread != r.meta.thread {
			return false
		}
	}
	return true
}

// endsOpen reports whether the last line of the file had no newline.
func endsOpen(es []core.Entry, path string) bool {
	isOpen := false
	for i := range es {
		if p, ours, err := envelope.Open(es[i].Line); ours && err == nil && p.Path == path && !p.IsFile() {
			isOpen = p.IsOpen()
		}
	}
	return isOpen
}
