package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Keeps reports whether a message of the user or the assistant is among es,
// which is what pi 1.5.2 waits for. pi 0.73.1 waits for the assistant.
func (d Dialect) Keeps(es []core.Entry) bool {
	if d.V073 {
		return jsonl.Spoken(es, "assistant")
	}
	return jsonl.Spoken(es, "user", "assistant")
}

// Admit refuses a second header, labels and compactions that name an entry which
// does not exist, and what pi does not read as part of the session. A compaction
// that keeps nothing names itself.
func (d Dialect) Admit(s core.Admission, e core.Entry) error {
	if err := jsonl.CheckEntry(e); err != nil {
		return err
	}
	has := s.Has
	s.Has = func(id string) bool { return has(id) || e.Type == "compaction" && id == e.ID }
	return tree.Admit(s, e, d.Read, typeHeader)
}
