package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Context returns the messages of the request with which the agent would
// continue at leaf, without the next prompt, what follows it, and what depends on
// the host. A last message of the user ends as it does if that prompt follows.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	if leaf.IsDefault() {
		leaf = d.Leaf(es)
	}
	t := readThread(es)
	var way []int
	if id, ok := leaf.ID(); ok {
		at, there := t.find(id, len(t.nodes))
		if !there {
			return nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
		}
		way = t.withParallel(t.afterCompaction(t.chain(at)))
	}
	b := request{calls: t.calls(way), messages: make([]message, 0, len(way)+2)}
	ending, end := t.ending(way, b.calls)
	for _, n := range way[:end] {
		b.add(&t.nodes[n])
	}
	b.resume(ending)
	for _, n := range way[end:] {
		b.add(&t.nodes[n])
	}
	return b.json(), nil
}

// resume adds what the agent itself adds if the conversation does not end with
// an answer.
func (b *request) resume(e ending) {
	switch e {
	case endsInTurn:
		b.user(textBlock("Continue from where you left off."))
		b.assistant("", textBlock("No response requested."))
	case endsInPrompt:
		b.assistant("", textBlock("No response requested."))
	}
}

type ending int

const (
	endsInAnswer ending = iota // or in nothing
	endsInPrompt               // which has no answer
	endsInTurn                 // a tool was called, or more than the prompt is there
)

// ending returns how the conversation on way ends, and how many lines of way are
// before that end. Lines of local commands may follow it.
func (t *thread) ending(way []int, calls callSet) (ending, int) {
	end, noted := len(way), false
	for i := len(way) - 1; i >= 0; i-- {
		n := &t.nodes[way[i]]
		switch n.kind {
		case "assistant":
			switch {
			case n.apiError && i > 0 && t.nodes[way[i-1]].isInTurn():
				return endsInTurn, end
			case n.apiError:
				return endsInAnswer, end
			case !n.isUnanswered(calls):
				return endsInAnswer, end
			}
		case "user":
			if noted {
				return endsInTurn, end
			}
			return n.ending(), end
		case "attachment":
			noted = true
		case "system":
			if !noted {
				end = i
			}
		}
	}
	return endsInAnswer, end
}

// isUnanswered reports whether n is nothing but calls without results, which are
// not sent.
func (n *node) isUnanswered(calls callSet) bool {
	isCall := func(b block) bool { return b.kind.Is("tool_use") && !calls.at(b.call).answered }
	return len(n.blocks()) > 0 && !slices.ContainsFunc(n.blocks(), func(b block) bool { return !isCall(b) })
}

// isInTurn reports whether a turn has begun before n: n is not the prompt alone.
func (n *node) isInTurn() bool {
	return n.kind == "attachment" || n.kind == "user" && n.ending() == endsInTurn
}

// ending is how a conversation ends with the user line n.
func (n *node) ending() ending {
	if n.hasResult() {
		return endsInTurn
	}
	isReminder := func(b block) bool { return strings.HasPrefix(text(b.text), "<system-reminder>") }
	if member(n.line, "isMeta").Truthy() && !slices.ContainsFunc(n.blocks(), isReminder) {
		return endsInTurn
	}
	return endsInPrompt
}
