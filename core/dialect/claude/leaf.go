package claude

import (
	"slices"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

const typeLastPrompt = "last-prompt"

// A lastPrompt is the agent's record of where it would continue.
type lastPrompt struct {
	leaf  string
	empty bool // it continues before everything
}

// promptOf reads a last-prompt record. ok is false if e is none, or names no
// place.
func promptOf(e core.Entry) (p lastPrompt, ok bool) {
	if e.Type != typeLastPrompt {
		return p, false
	}
	line := e.Line
	if q, ours, err := envelope.Open(line); ours {
		if err != nil || !q.IsLine() || q.Pieces != 1 || q.Path != mainPath {
			return p, false
		}
		line = q.Bytes
	}
	var v [3]jsjson.Value
	if jsjson.Pick(line, []string{"type", "leafUuid", "explicit"}, v[:]) != nil || !v[0].Is(typeLastPrompt) {
		return p, false
	}
	p.leaf, _ = v[1].Text()
	p.empty = p.leaf == "" && v[1].Kind() == 'n' && v[2].Kind() == 't'
	return p, p.leaf != "" || p.empty
}

// Leaf is the last entry, unless the last last-prompt record names another that
// is no ancestor of it: then that one. A record that says that the conversation
// was cleared counts until a line follows it.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	last := lastInTree(es)
	for i, e := range slices.Backward(es) {
		p, ok := promptOf(e)
		switch {
		case !ok:
		case p.empty && i > last:
			return core.NoLeaf
		case p.empty:
			return leafOf(es, last)
		default:
			ids := idsOf(es)
			at, there := ids[p.leaf]
			if !there || isAncestor(es, ids, at, last) {
				return leafOf(es, last)
			}
			return core.LeafAt(p.leaf)
		}
	}
	return leafOf(es, last)
}

func leafOf(es []core.Entry, at int) core.Leaf {
	if at < 0 {
		return core.Leaf{}
	}
	return core.LeafAt(es[at].ID)
}

// idsOf returns the places of the entries of the tree by id; of several with one
// id, the last.
func idsOf(es []core.Entry) map[string]int {
	ids := make(map[string]int, len(es))
	for i := range es {
		if !es[i].Aside {
			ids[es[i].ID] = i
		}
	}
	return ids
}

// lastInTree returns the place of the last entry of the tree at which the agent
// would continue, or -1. It does not continue at the progress of a tool.
func lastInTree(es []core.Entry) int {
	i := len(es) - 1
	for i >= 0 && (es[i].Aside || es[i].Type == "progress") {
		i--
	}
	return i
}

// isAncestor reports whether the entry at a is the one at b, or one that leads
// to it.
func isAncestor(es []core.Entry, ids map[string]int, a, b int) bool {
	for range es {
		if a == b || b < 0 {
			return a == b
		}
		up, ok := ids[es[b].Parent]
		if !ok {
			return false
		}
		b = up
	}
	return false
}

// LeafAfter implements core.Linker. A line that follows the head's position
// moves it; a branch, or a last-prompt record, is decided like in a file, with
// the records that are on the way to the head.
func (d Dialect) LeafAfter(was core.Leaf, added, es []core.Entry, find func(string) (core.Entry, bool)) core.Leaf {
	last := lastInTree(added)
	_, prompted := lastPromptIn(added)
	if !prompted {
		if last < 0 {
			return was
		}
		if follows(added, last, was) {
			return leafOf(added, last)
		}
	}
	to := was
	if last >= 0 {
		to = leafOf(added, last)
	}
	way := sync.OnceValue(func() map[string]bool { return wayTo(find, was, to) }) // reads the whole path
	for i, e := range slices.Backward(es) {
		p, ok := promptOf(e)
		switch isNew := i >= len(es)-len(added); {
		case !ok:
		case p.empty && isNew && i-(len(es)-len(added)) > last:
			return core.NoLeaf
		case p.empty:
			return to
		case isNew || way()[p.leaf]:
			if _, there := find(p.leaf); !there || leadsTo(p.leaf, to, find, len(es)) {
				return to
			}
			return core.LeafAt(p.leaf)
		}
	}
	return to
}

// wayTo returns the ids on the paths to leaves.
func wayTo(find func(string) (core.Entry, bool), leaves ...core.Leaf) map[string]bool {
	way := map[string]bool{}
	for _, l := range leaves {
		id, _ := l.ID()
		for id != "" && !way[id] {
			way[id] = true
			e, _ := find(id)
			id = e.Parent
		}
	}
	return way
}

func lastPromptIn(es []core.Entry) (p lastPrompt, ok bool) {
	for _, e := range slices.Backward(es) {
		if p, ok = promptOf(e); ok {
			return p, true
		}
	}
	return p, false
}

// follows reports whether the way up from es[at] leaves es at the entry was.
func follows(es []core.Entry, at int, was core.Leaf) bool {
	ids := idsOf(es)
	for range es {
		up, ok := ids[es[at].Parent]
		if !ok {
			return es[at].Parent != "" && core.LeafAt(es[at].Parent) == was
		}
		at = up
	}
	return false
}

// leadsTo reports whether the entry id is to, or an ancestor of it.
func leadsTo(id string, to core.Leaf, find func(string) (core.Entry, bool), most int) bool {
	at, ok := to.ID()
	for range most + 1 {
		if !ok || at == "" {
			return false
		}
		if at == id {
			return true
		}
		e, there := find(at)
		at, ok = e.Parent, there
	}
	return false
}
