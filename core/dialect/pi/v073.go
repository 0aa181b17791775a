package pi

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// context073 returns what the context builder of pi 0.73.1 makes of path: every
// message as it is stored, whatever its content, without edits. That version
// has neither system messages nor edits of the context.
func context073(path []core.Entry) (json.RawMessage, error) {
	chosen, err := choose(path, func(core.Entry) (bool, error) { return false, nil })
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, sizeOf(chosen)), `{"messages":[`...)
	start := len(b)
	for i, e := range chosen {
		if e.Type == "compaction" && i > 0 {
			continue // an older one that the newest kept
		}
		m, err := message073(e)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		if b, err = jsonl.Append(b, m); err != nil {
			return nil, err
		}
	}
	return appendSettings(append(b, ']'), path)
}

// sizeOf is about how long the messages of es will be.
func sizeOf(es []core.Entry) int {
	n := 128
	for i := range es {
		n += len(es[i].Line)
	}
	return n
}

// message073 returns what e adds to the context, nil for nothing.
func message073(e core.Entry) (jsjson.Value, error) {
	switch e.Type {
	case "message", "custom_message", "branch_summary", "compaction":
	default:
		return nil, nil
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case "message":
		if m := o.Get("message"); !m.IsNullish() {
			return m, nil
		}
		return nil, nil
	case "custom_message":
		return customMessage(&o, o.Get("content"))
	case "branch_summary":
		if !o.Get("summary").Truthy() {
			return nil, nil
		}
		return branchSummary(&o)
	}
	return compactionSummary(&o)
}
