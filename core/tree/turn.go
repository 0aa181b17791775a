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
	_, ended := TurnEnd(d, es)
	return ended
}

// TurnEnd is TurnEnded that also returns the index of the answer in es.
func TurnEnd(d core.Translator, es []core.Entry) (index int, ended bool) {
	for i := range slices.Backward(es) {
		for _, it := range slices.Backward(d.Read(es[i])) {
			if it.Kind == item.Message {
				return i, it.Role == item.RoleAssistant && it.Stop != item.StopTools && !callsTool(it)
			}
		}
	}
	return 0, false
}

func callsTool(it item.Item) bool {
	return slices.ContainsFunc(it.Blocks, func(b item.Block) bool { return b.Kind == item.BlockCall })
}
