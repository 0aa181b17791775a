package codex

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/usage"
)

// Meter implements usage.Reporter. The answers in lines that a fork took over
// from another thread are inherited; those that a revert took back count. For a
// thread without records of usage, because an older version wrote it, the last
// total counts.
func (Dialect) Meter(h core.Header) (usage.Meter, []usage.Use) {
	return &meter{header: h, files: map[string]*metered{}, recorded: map[string]bool{}}, nil
}

type meter struct {
	header   core.Header
	files    map[string]*metered // by path
	recorded map[string]bool     // threads with records of usage
}

// A metered is what the lines of a file said so far.
type metered struct{ thread, model string }

// Read implements usage.Meter.
func (m *meter) Read(e core.Entry) []usage.Use {
	switch e.Type {
	case typeMeta, typeTurn, typeUsage, typeEvent:
	default:
		return nil
	}
	piece, ours, err := envelope.Open(e.Line)
	if !ours || err != nil || !piece.IsLine() {
		return nil
	}
	f := m.files[piece.Path]
	if f == nil {
		f = &metered{}
		m.files[piece.Path] = f
	}
	r, _ := readRecord(piece.Bytes)
	switch e.Type {
	case typeMeta:
		if f.thread == "" {
			f.thread = memberText(r.payload, "id")
		}
	case typeTurn:
		f.model = memberText(r.payload, "model")
	case typeUsage:
		return m.record(e, f, r.payload)
	case typeEvent:
		return m.total(e, f, r)
	}
	return nil
}

// record reads the usage of one answer.
func (m *meter) record(e core.Entry, f *metered, p jsjson.Value) []usage.Use {
	u := usage.Use{Answer: memberText(p, "response_id"), Model: f.model, Tokens: tokens(member(p, "usage"))}
	thread := memberText(p, "thread_id")
	if u.Answer == "" && thread != f.thread {
		return nil // a copy of a line of another file
	}
	m.whose(&u, e, thread)
	if m.recorded[thread] {
		return []usage.Use{u}
	}
	m.recorded[thread] = true
	none := usage.Use{Answer: totalOf(thread), Total: true}
	m.whose(&none, e, thread)
	return []usage.Use{none, u}
}

// total reads the sum of the answers of a thread so far.
func (m *meter) total(e core.Entry, f *metered, r record) []usage.Use {
	all := member(member(r.payload, "info"), "total_token_usage")
	if r.of != "token_count" || all.Kind() != '{' || m.recorded[f.thread] {
		return nil
	}
	u := usage.Use{Answer: totalOf(f.thread), Model: f.model, Total: true, Tokens: tokens(all)}
	m.whose(&u, e, f.thread)
	return []usage.Use{u}
}

func totalOf(thread string) string { return "total of " + thread }

// whose sets whether u is of a sub-agent or inherited. e is in a file of the
// thread, or in one that continues it.
func (m *meter) whose(u *usage.Use, e core.Entry, thread string) {
	switch {
	case thread == m.header.ID:
	case e.Aside:
		u.Agent = thread
	default:
		u.Inherited = true
	}
}

// tokens reads a usage. Input tokens of Codex include those that were cached.
func tokens(v jsjson.Value) usage.Tokens {
	n := func(name string) int64 {
		n, _ := count(member(v, name))
		return n
	}
	t := usage.Tokens{CacheRead: n("cached_input_tokens"), CacheWrite: n("cache_write_input_tokens"), Output: n("output_tokens")}
	t.Input = max(n("input_tokens")-t.CacheRead-t.CacheWrite, 0)
	return t
}
