package tree

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// TurnEnded reports whether the agent waits for its user after es, which are the
// latest entries of a session: whether the last message in them is an answer that
// calls no tool. It is a hint, since the agent may be about to write more.
func TurnEnded(d core.Translator, es []core.Entry) bool {
	for i := range slices.Backward(es) {
		for _, it := range slices.Backward(d.Read(es[i])) {
			if it.Kind == item.Message {
				return it.Role == item.RoleAssistant && it.Stop != item.StopTools && !callsTool(it)
			}
		}
	}
	return false
}

func callsTool(it item.Item) bool {
	return slices.ContainsFunc(it.Blocks, func(b item.Block) bool { return b.Kind == item.BlockCall })
}
