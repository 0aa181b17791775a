package opencode

import "slices"

// history returns the messages that opencode would send of s: without what is
// reverted, and from the last compaction on.
func (s *state) history() []*message { return sinceCompaction(s.current()) }

// current returns the messages without those that a revert hides. The next
// prompt removes these.
func (s *state) current() []*message {
	all := s.ordered()
	from := text(s.info, "revert", "messageID")
	if from == "" {
		return all
	}
	at := slices.IndexFunc(all, func(m *message) bool { return m.id == from })
	if at < 0 {
		return all
	}
	kept := all[:at:at]
	if id := text(s.info, "revert", "partID"); id != "" {
		kept = append(kept, all[at].before(id))
	}
	return kept
}

// before returns m without its parts from the one called id on.
func (m *message) before(id string) *message {
	cut := m.clone()
	parts := m.ordered()
	at := slices.IndexFunc(parts, func(p *part) bool { return p.id == id })
	if at >= 0 {
		for _, p := range parts[at:] {
			delete(cut.parts, p.id)
		}
	}
	return cut
}

// compaction returns the part that makes m the request of a compaction, or nil.
func (m *message) compaction() *part {
	if m.role != "user" {
		return nil
	}
	for _, p := range m.ordered() {
		if p.kind == "compaction" {
			return p
		}
	}
	return nil
}

// isSummary reports whether m is what a compaction wrote, complete.
func (m *message) isSummary() bool {
	return m.role == "assistant" && member(m.info, "summary").Truthy() && member(m.info, "finish").Truthy() && !member(m.info, "error").Truthy()
}

// sinceCompaction returns the messages from the last compaction on that was
// completed. If it kept the messages before it from one on, these follow its
// summary.
func sinceCompaction(all []*message) []*message {
	summarized := map[string]bool{}
	tail, first := "", 0
	for i, m := range slices.Backward(all) {
		if tail != "" {
			if m.id == tail {
				first = i
				break
			}
			continue
		}
		if c := m.compaction(); c != nil && summarized[m.id] {
			if tail = text(c.row, "tail_start_id"); tail == "" || tail == m.id {
				first = i
				break
			}
		}
		if m.isSummary() {
			summarized[text(m.info, "parentID")] = true
		}
	}
	return withTail(all[first:])
}

// withTail returns the messages with those that the last compaction kept after
// its summary.
func withTail(all []*message) []*message {
	at, tail := -1, ""
	for i, m := range slices.Backward(all) {
		if c := m.compaction(); c != nil && member(c.row, "tail_start_id") != nil {
			at, tail = i, text(c.row, "tail_start_id")
			break
		}
	}
	if at < 0 || tail == "" {
		return all
	}
	from := slices.IndexFunc(all, func(m *message) bool { return m.id == tail })
	summary := slices.IndexFunc(all[at+1:], func(m *message) bool {
		return m.role == "assistant" && member(m.info, "summary").Truthy() && text(m.info, "parentID") == all[at].id
	})
	if from < 0 || from >= at || summary < 0 {
		return all
	}
	summary += at + 1
	return slices.Concat(all[at:summary+1], all[from:at], all[summary+1:])
}
