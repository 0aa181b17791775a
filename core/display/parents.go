package display

// Parents returns, for each of nodes in display order, the index of its parent, -1
// for a root, and the number of its children.
func Parents(nodes []TreeNode) (parents, children []int) {
	parents, children = make([]int, len(nodes)), make([]int, len(nodes))
	var path []int // the last node of each depth
	for i, n := range nodes {
		depth := min(max(n.Depth, 0), len(path))
		parents[i] = -1
		if depth > 0 {
			parents[i] = path[depth-1]
			children[parents[i]]++
		}
		path = append(path[:depth], i)
	}
	return parents, children
}
