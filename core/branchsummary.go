package core

import "encoding/json"

// BranchSummary is the item that summarizes a branch that ended at left, in a
// session of d that continues at from. pi's entry names left, those of other
// agents name from. From the root, all name the root.
func BranchSummary(d Decoder, left, from Leaf, summary string, details json.RawMessage) Item {
	it := Item{Kind: ItemBranch, Text: summary, Details: details}
	it.Target, _ = from.ID()
	if id, ok := left.ID(); ok && d.Name() == "pi" && !from.IsNone() {
		it.Target = id
	}
	return it
}
