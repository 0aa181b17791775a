package operator

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Keeps reports whether the assistant has spoken, which is what Operator waits
// for; an empty answer or a failed one counts.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }
