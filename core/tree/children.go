package tree

import "github.com/sesslog/sesslog/core"

// Children returns the children of the entry called id, oldest first, as d
// shows them. For the empty id it returns the roots. Entries without an id are
// left out. Returns none if id does not exist.
func Children(d core.Tree, es []core.Entry, id string) []core.Entry {
	byID := make(map[string]int, len(es))
	for i := range es {
		byID[es[i].ID] = i
	}
	rows := d.Tree(es)
	depth := -1
	if id != "" {
		for len(rows) > 0 && rows[0].ID != id {
			rows = rows[1:]
		}
		if len(rows) == 0 {
			return nil
		}
		depth, rows = rows[0].Depth, rows[1:]
	}
	var children []core.Entry
	for _, row := range rows {
		if row.Depth <= depth {
			break
		}
		if row.Depth == depth+1 && row.ID != "" {
			children = append(children, es[byID[row.ID]])
		}
	}
	return children
}
