package tree

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// BranchSummary is the item that summarizes a branch that ended at left, in a
// session of d that continues at from. pi's entry names left, those of other
// agents name from. From the root, all name the root.
func BranchSummary(d core.Decoder, left, from core.Leaf, summary string, details json.RawMessage) item.Item {
	it := item.Item{Kind: item.Branch, Text: summary, Details: details}
	it.Target, _ = from.ID()
	if id, ok := left.ID(); ok && d.Name() == "pi" && !from.IsNone() {
		it.Target = id
	}
	return it
}
