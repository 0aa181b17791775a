package convert

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// name gives the new session the name of the old one.
func (c *conversion) name(h core.Header) error {
	old, err := c.From.Info(c.Header, c.Entries, c.Leaf)
	if err != nil || old.Name == nil {
		return err
	}
	made, err := c.To.Info(h, c.out, c.leaf)
	if err != nil || made.Name != nil && *made.Name == *old.Name {
		return err
	}
	it := item.Item{Kind: item.Name, Text: *old.Name, Time: c.lastTime()}
	if line, _ := c.To.Write(it); line == nil && c.lost[plural(item.Name)] > 0 {
		return nil // its entry is counted already
	}
	parent, _ := c.leaf.ID()
	c.leaf = leafAt(c.put(it, "", parent))
	return c.err
}

// lastTime is the time of the last item that has one, so that a name set at
// that time counts as the newest.
func (c *conversion) lastTime() string {
	for i := len(c.Entries) - 1; i >= 0; i-- {
		for _, it := range c.From.Read(c.Entries[i]) {
			if it.Time != "" {
				return it.Time
			}
		}
	}
	return ""
}

// restoreLeaf makes the new session's agent continue where the old one would.
// Most agents continue at the last line.
func (c *conversion) restoreLeaf() {
	if len(c.out) == 0 || c.To.Linear() || c.To.Leaf(c.out) == c.leaf {
		return
	}
	id, some := c.leaf.ID()
	at := len(c.out) - 1
	if line, _ := c.To.Write(item.Item{Kind: item.Leaf, Target: id}); line != nil {
		c.add(line, item.Item{Kind: item.Leaf}, "", c.out[at].ID)
		return
	}
	if some && c.moveLast(id) {
		return
	}
	mark := item.Item{Kind: item.Custom, Type: "sesslog.leaf"}
	c.leaf = leafAt(c.put(mark, "", id))
}

// moveLast moves the entry called id to the end, unless it has children.
func (c *conversion) moveLast(id string) bool {
	at := -1
	for i, e := range c.out {
		if e.Parent == id {
			return false
		}
		if e.ID == id {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	e := c.out[at]
	for _, it := range c.To.Read(e) {
		if it.Kind == item.Label || it.Kind == item.Name {
			return false // the last in a file counts
		}
	}
	c.out = append(append(c.out[:at:at], c.out[at+1:]...), e)
	return true
}
