package opencode

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
)

// An examiner reads a session as opencode does when it resumes it.
type examiner struct {
	optional.Examination
	*state
	broken bool // there are faults that a copy repairs
}

// Examine implements optional.Examiner. Messages are those that say something. The
// copy is an export, for opencode import.
func (d Dialect) Examine(main string, files map[string][]byte, join bool) (optional.Examination, error) {
	var all []bundle.File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		all = append(all, bundle.File{Path: path, Data: files[path]})
	}
	f, err := d.Pack(main, all)
	if err != nil {
		return optional.Examination{}, err
	}
	x := &examiner{state: fold(f.Header, f.Entries)}
	x.File = path.Join(path.Dir(main), exportFile)
	x.numbers(f)
	x.messages()
	x.reverted(join)
	if x.broken && x.info != nil {
		x.adopt()
		x.Copy = x.document()
	}
	return x.Examination, nil
}

func (x *examiner) fault(kind optional.FaultKind, repair optional.Repair, form string, args ...any) {
	if repair == optional.ByCopy && x.info == nil {
		repair = "" // opencode does not import a session without its row
	}
	x.broken = x.broken || repair == optional.ByCopy
	x.Faults = append(x.Faults, optional.Fault{Kind: kind, Text: fmt.Sprintf(form, args...), Repair: repair})
}

// numbers examines whether the event log has all events. opencode needs it only on
// another host, which refuses events after missing ones.
func (x *examiner) numbers(f *core.File) {
	next := int64(0)
	for _, e := range f.Entries {
		ev, ok := readEvent(lineOf(e))
		switch {
		case !ok:
			continue
		case next == 0 && (ev.seq > 0 || ev.kind != typeCreated):
			x.fault(optional.MissingEvents, "", "its events do not begin with its creation, as after opencode import; opencode export has all of it")
		case ev.seq == next+1:
			x.fault(optional.MissingEvents, optional.ByCopy, "event %d is missing, and another host refuses those after it", next)
		case ev.seq > next:
			x.fault(optional.MissingEvents, optional.ByCopy, "events %d to %d are missing, and another host refuses those after them", next, ev.seq-1)
		}
		next = ev.seq + 1
	}
}

// messages counts the messages and examines those that opencode does not send.
func (x *examiner) messages() {
	sent, current := idSet(x.history()), idSet(x.current())
	for _, id := range slices.Sorted(maps.Keys(x.state.messages)) {
		m := x.state.messages[id]
		if m.info == nil {
			if len(m.parts) > 0 {
				x.Messages++
				x.fault(optional.MissingParent, "", "message %s is missing, and opencode does not send its parts: %d", jsonl.Clip(id, maxID), len(m.parts))
			}
			continue
		}
		failure := text(m.info, "error", "name")
		failed := m.isFailure()
		if failed {
			m = m.withoutError()
		}
		if current[id] && !failed {
			x.unfinished(m)
		}
		if !m.saysSomething() {
			continue
		}
		x.Messages++
		switch {
		case failed && current[id]:
			x.fault(optional.FailedAnswer, optional.ByCopy, "answer %s ended with %s, and opencode does not send what was there of it", jsonl.Clip(id, maxID), jsonl.Clip(failure, maxID))
			x.state.messages[id] = m
		case sent[id]:
			x.Sent++
		case current[id]:
			x.Summarized++
		default:
			x.Branches++
		}
	}
}

func idSet(ms []*message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range ms {
		ids[m.id] = true
	}
	return ids
}

// withoutError returns m as if it had not failed.
func (m *message) withoutError() *message {
	c := m.clone()
	c.info = jsonl.Without(m.info, "error")
	return c
}

// saysSomething reports whether m has a text that is not blank, a call, or anything else
// that is sent but thoughts.
func (m *message) saysSomething() bool {
	if m.role != "assistant" {
		r := request{}
		r.add(m)
		return len(r.messages) > 0
	}
	for _, p := range m.parts {
		if p.kind == "tool" || p.kind == "text" && strings.TrimSpace(text(p.row, "text")) != "" {
			return true
		}
	}
	return false
}

// unfinished examines an answer that has no end.
func (x *examiner) unfinished(m *message) {
	if m.role != "assistant" || member(m.info, "time", "completed") != nil || member(m.info, "finish").Truthy() {
		return
	}
	x.fault(optional.UnfinishedTurn, "", "answer %s has no end: opencode was killed, or is writing it, and has not stored its last text", jsonl.Clip(m.id, maxID))
}

// reverted examines what a revert hides. With join, the copy has it.
func (x *examiner) reverted(join bool) {
	from := text(x.info, "revert", "messageID")
	if from == "" || x.Branches == 0 {
		return
	}
	x.fault(optional.AbandonedLines, optional.ByJoining, "messages are reverted from %s on: %d; the next prompt deletes them", jsonl.Clip(from, maxID), x.Branches)
	if join {
		x.info = jsonl.Without(x.info, "revert")
		x.broken = true
	}
}
