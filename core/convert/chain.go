package convert

import (
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// chain converts what the source's agent would still send to its model of path.
func (c *conversion) chain(path []core.Entry) {
	others := -len(path)
	for _, e := range c.Entries {
		if !e.Aside {
			others++
		}
	}
	if others > 0 {
		c.lost["entries on other branches"] = others
	}
	parent := ""
	for _, it := range c.relevant(path) {
		parent = c.put(it, "", parent)
	}
	c.leaf = leafAt(parent)
}

// narration converts what the session says as a whole.
func (c *conversion) narration(from optional.Narrator) {
	its, err := from.ReadAll(c.Header, c.Entries, c.Leaf)
	if err != nil {
		c.err = err
		return
	}
	parent := ""
	for _, it := range its {
		parent = c.put(it, c.newID("item "+strconv.Itoa(len(c.out))), parent)
	}
	c.leaf = leafAt(parent)
}

// relevant returns the items of path. If there is a compaction, the last one
// comes first, then what it kept, then what follows it.
func (c *conversion) relevant(path []core.Entry) []item.Item {
	var its []item.Item
	var of []int // the place in path of each
	last := -1
	for i, e := range path {
		items := c.From.Read(e)
		if len(items) == 0 {
			c.lose(describe(e))
		}
		for _, it := range items {
			if it.Kind == item.Compaction {
				last = len(its)
			}
			its, of = append(its, it), append(of, i)
		}
	}
	if last < 0 {
		return its
	}
	first := slices.IndexFunc(path[:of[last]], func(e core.Entry) bool { return e.ID != "" && e.ID == its[last].Target })
	kept := 0
	for kept < last && (first < 0 || of[kept] < first) {
		kept++
	}
	if kept > 0 {
		c.lost["entries before the last compaction"] = kept
	}
	out := []item.Item{its[last]}
	for _, it := range its[kept:last] {
		if it.Kind != item.Compaction {
			out = append(out, it)
		}
	}
	return append(out, its[last+1:]...)
}
