package operator

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Fill adds id, timestamp and parent_id, in this order, before the closing
// brace of line, unless line has them or f does not give them. The time is ISO
// 8601 and becomes a number, or is a number and stays as it is. A root gets a
// parent_id of null, which means the same as leaving it out. A member that line
// has stays, also null. A compaction that gets its fields at a time and lacks
// tokens_before gets 0, because Operator requires a number. No other byte changes,
// and line itself is not modified. Returns ErrInvalid for a time in another format,
// too.
func (Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := readEntry(line)
	if err != nil {
		return core.Entry{}, err
	}
	hasTime := false
	_ = jsonline.Members(line, func(name string, _ jsontext.Value) { hasTime = hasTime || name == "timestamp" })
	var when []byte
	if f.Time != "" && !hasTime {
		n, ok := number(f.Time)
		if !ok {
			return core.Entry{}, fmt.Errorf("time %q is neither ISO 8601 nor a number: %w", jsonl.Clip(f.Time, 40), core.ErrInvalid)
		}
		when = []byte(n)
	}
	var tokens []byte
	if f.Time != "" && e.Type == typeCompaction {
		tokens = []byte("0")
	}
	return readEntry(jsonl.Complete(line,
		jsonl.Member{Name: "id", Value: jsonline.EscapeSeparators(jsonl.Quoted(f.ID))},
		jsonl.Member{Name: "timestamp", Value: when},
		jsonl.Member{Name: "parent_id", Value: jsonline.EscapeSeparators(jsonl.Parent(f.Parent))},
		jsonl.Member{Name: "tokens_before", Value: tokens}))
}
