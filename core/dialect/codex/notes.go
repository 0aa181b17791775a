package codex

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// The types of lines that are in the log only. Codex keeps names in an index of
// its own, and has no labels.
const (
	typeName  = "name"
	typeLabel = "label"
)

// nameOf returns the last name in es, or "" if there is none: one that was given
// in the log, or that a line of the thread gives.
func nameOf(es []core.Entry) string {
	name := ""
	for _, e := range es {
		name = nameAfter(name, e)
	}
	return name
}

// nameAfter returns the name of a session that was called name before e.
func nameAfter(name string, e core.Entry) string {
	switch {
	case e.Type == typeName:
		if o, err := jsonl.Object(e); err == nil {
			name, _ = o.Get("name").Text()
		}
	case e.Type == typeEvent && !e.Aside:
		if p := payloadOfEntry(e); member(p, "type").Is("thread_name_updated") {
			name = memberText(p, "thread_name")
		}
	}
	return jsonl.Trim(name)
}
