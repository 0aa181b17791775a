package codex

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A meta is the first line of a rollout.
type meta struct {
	thread     string // the id of the session
	root       string // the thread that started this one as a sub-agent, or the thread itself
	forkedFrom string
	parent     string // of a sub-agent
	time       string
	cwd        string
	version    string // of Codex
	mode       string // "paginated", "legacy", or empty
	source     string // "cli", "exec", "vscode", "subagent", …
	base       *base
}

// A base is where the lines before those of a file are: in the file of a thread,
// from its beginning up to a byte.
type base struct {
	thread  string
	rollout string // the file of the thread, if it was made by a revert
	end     int64  // byte offset
	ordinal int64  // of the first line that is not part of it, or 0 if unknown. Of several files it says which
}

// of returns b with the thread whose rollout it names instead of one, if it does.
// A thread that was reverted has several files, of which all but the first have an
// id of their own.
func (b *base) of(threads map[string]string) *base {
	if b == nil || threads[b.thread] == "" {
		return b
	}
	return &base{thread: threads[b.thread], rollout: b.thread, end: b.end, ordinal: b.ordinal}
}

// isIn reports whether b can mean the file with that name.
func (b *base) isIn(n rolloutName) bool { return b.rollout == "" || b.rollout == n.rollout }

// maxID is the longest id that is believed.
const maxID = envelope.MaxID

// readMeta reads the first line of a rollout. Returns core.ErrInvalid if the
// line does not begin one.
func readMeta(line []byte) (meta, error) {
	r, ok := readRecord(line)
	if !ok {
		return meta{}, fmt.Errorf("not a rollout of Codex: its first line is not a JSON object: %w", core.ErrInvalid)
	}
	if r.kind != typeMeta {
		return meta{}, fmt.Errorf("not a rollout of Codex: it begins with type %q instead of %q: %w", jsonl.Clip(r.kind, 40), typeMeta, core.ErrInvalid)
	}
	return r.meta()
}

// meta reads a line of the type session_meta.
func (r record) meta() (meta, error) {
	o, err := jsjson.ParseObject(r.payload)
	if err != nil {
		return meta{}, fmt.Errorf("not a rollout of Codex: its session_meta has no payload: %w", core.ErrInvalid)
	}
	text := func(name string) string {
		s, _ := o.Get(name).Text()
		return s
	}
	m := meta{
		thread: text("id"), root: text("session_id"), forkedFrom: text("forked_from_id"), parent: text("parent_thread_id"),
		time: text("timestamp"), cwd: text("cwd"), version: text("cli_version"), mode: text("history_mode"),
		source: sourceOf(o.Get("source")),
	}
	if m.thread == "" || len(m.thread) > maxID {
		return meta{}, fmt.Errorf("not a rollout of Codex: its session_meta has an id of %d characters, 1 to %d are allowed: %w",
			len(m.thread), maxID, core.ErrInvalid)
	}
	if b := o.Get("history_base"); !b.IsNullish() {
		end, ok := count(member(b, "end_byte_offset"))
		ordinal, _ := count(member(b, "end_ordinal_exclusive"))
		if m.base = (&base{thread: memberText(b, "thread_id"), end: end, ordinal: ordinal}); !ok || m.base.thread == "" {
			return meta{}, fmt.Errorf("the rollout of thread %s has a history_base without a thread or an offset: %w", jsonl.Clip(m.thread, 40), core.ErrInvalid)
		}
	}
	return m, nil
}

// sourceOf returns what started the thread: a word, or the name of the only
// member of an object.
func sourceOf(v jsjson.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	if !member(v, "subagent").IsNullish() {
		return "subagent"
	}
	return ""
}
