package operator

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	trees "github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Keeps reports whether the assistant has spoken, which is what Operator waits
// for; an empty answer or a failed one counts.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }

// Admit refuses a second header, and labels and compactions that name an entry which
// does not exist, and an empty parent.
func (d Dialect) Admit(s core.Admission, e core.Entry) error {
	if err := jsonl.CheckParent(e.Line, "parent_id"); err != nil {
		return err
	}
	return trees.Admit(s, e, d.Read, typeHeader, typeHeaderByBook)
}
