package convert

import (
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// tree converts all entries, parents before their children.
func (c *conversion) tree(path []core.Entry) {
	byID := make(map[string]int, len(c.Entries))
	for i, e := range c.Entries {
		if e.ID != "" && !e.Aside {
			byID[e.ID] = i
		}
	}
	if c.From.Linear() {
		c.addChain(path)
		return
	}
	for id := range byID {
		c.kept[id] = true
	}
	done := make([]bool, len(c.Entries))
	for i := range c.Entries {
		for _, at := range c.upTo(i, byID, done) {
			e := c.Entries[at]
			above := ""
			if parent, ok := byID[e.Parent]; ok && parent != at {
				above = c.last[e.Parent]
			}
			if byID[e.ID] != at { // a later entry took its id over, and whatever points at it
				e.ID = ""
			}
			c.entry(e, above)
		}
	}
	if n := len(path); n > 0 {
		c.leaf = leafAt(c.last[path[n-1].ID])
	} else {
		c.leaf = core.NoLeaf
	}
}

func leafAt(id string) core.Leaf {
	if id == "" {
		return core.NoLeaf
	}
	return core.LeafAt(id)
}

// upTo returns entry i and its ancestors that are not done, the topmost first.
// It stops if parents form a cycle.
func (c *conversion) upTo(i int, byID map[string]int, done []bool) []int {
	var up []int
	for at, ok := i, true; ok && !done[at]; at, ok = byID[c.Entries[at].Parent] {
		done[at] = true
		if !c.Entries[at].Aside {
			up = append(up, at)
		}
	}
	for a, b := 0, len(up)-1; a < b; a, b = a+1, b-1 {
		up[a], up[b] = up[b], up[a]
	}
	return up
}

// addChain converts path as a chain.
func (c *conversion) addChain(path []core.Entry) {
	parent := ""
	for _, e := range path {
		parent = c.entry(e, parent)
	}
	c.leaf = leafAt(parent)
}

// entry converts e, and returns the new entry that children of e hang on.
func (c *conversion) entry(e core.Entry, parent string) string {
	items := c.From.Read(e)
	if len(items) == 0 {
		c.lose(describe(e))
	}
	id := e.ID
	if c.From.Linear() {
		id = c.newID("entry " + e.ID)
	}
	at, said := parent, ""
	for i, it := range items {
		want := id
		if i > 0 || said != "" {
			want = c.newID(e.ID + " part " + strconv.Itoa(len(c.out)))
		}
		if before := len(c.out); it.Kind != item.Leaf {
			at = c.put(c.aimed(it, e), want, at)
			if said == "" && len(c.out) > before {
				said = at
			}
		}
	}
	if e.ID == "" {
		return at
	}
	c.last[e.ID] = at
	if said != "" {
		c.first[e.ID] = said
	}
	return at
}

// keptFrom returns the first new entry of what compaction e kept from the old
// entry called id on. If that entry has no counterpart, it is the first one
// after it on the way to e. Empty if there is none.
func (c *conversion) keptFrom(id string, e core.Entry) string {
	if said := c.first[id]; said != "" {
		return said
	}
	if _, there := c.last[id]; !there {
		return ""
	}
	said := ""
	for up := e.Parent; up != id; up = c.parentOf(up) {
		if c.steps++; up == "" || c.steps > maxSteps {
			if up != "" {
				c.lose("what a compaction kept")
			}
			return ""
		}
		if s := c.first[up]; s != "" {
			said = s
		}
	}
	return said
}

// maxSteps is how far keptFrom goes in all, further than any agent's session
// makes it and not so far that a session made for it keeps a machine busy.
const maxSteps = 10_000_000

func (c *conversion) parentOf(id string) string {
	if c.up == nil {
		c.up = make(map[string]string, len(c.Entries))
		for _, e := range c.Entries {
			c.up[e.ID] = e.Parent
		}
	}
	return c.up[id]
}

// aimed returns it, an item of e, with its references replaced by ids of the
// new session. An entry without a counterpart is replaced by the one that
// represents it: for the first entry that a compaction kept that is the next
// one, otherwise the previous one.
func (c *conversion) aimed(it item.Item, e core.Entry) item.Item {
	if it.Target == "" {
		return it
	}
	switch it.Kind {
	case item.Compaction:
		it.Target = c.keptFrom(it.Target, e)
	case item.Label, item.Branch:
		if to, ok := c.last[it.Target]; ok {
			it.Target = to
		}
	}
	return it
}

func describe(e core.Entry) string {
	if e.Type == "" {
		return "entries without a type"
	}
	const most = 40
	kind := e.Type
	if len(kind) > most {
		kind = kind[:most] + "…"
	}
	return kind + " entries"
}
