package core

import "encoding/json"

// BranchSummary is the item that says what a branch which ended at left came to, in
// a session of d that goes on from another place. pi names the entry that was
// left, the others the one that they go on from; from the root all say so.
func BranchSummary(d Decoder, left, from Leaf, summary string, details json.RawMessage) Item {
	it := Item{Kind: ItemBranch, Text: summary, Details: details}
	it.Target, _ = from.ID()
	if id, ok := left.ID(); ok && d.Name() == "pi" && !from.IsNone() {
		it.Target = id
	}
	return it
}
