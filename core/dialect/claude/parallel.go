package claude

import "slices"

// withParallel returns chain with what belongs to its answers and is beside it:
// lines of the same answer, and results of its calls. A path of parents has only
// one of several parallel calls.
func (t *thread) withParallel(chain []int) []int {
	if len(chain) == len(t.nodes) {
		return chain // nothing is beside it
	}
	has := make([]bool, len(t.nodes))
	answers := map[string]bool{}
	for _, n := range chain {
		has[n] = true
		if id := t.nodes[n].msgID; id != "" {
			answers[id] = true
		}
	}
	if len(answers) == 0 {
		return chain
	}
	lines := map[string][]int{}   // beside the chain, of an answer
	results := map[string][]int{} // beside the chain, of an answer's calls
	callOf := map[string]string{} // the answer of a line
	for i := range t.nodes {
		n := &t.nodes[i]
		if !answers[n.msgID] || n.msgID == "" || t.index()[n.uuid] != i {
			continue
		}
		callOf[n.uuid] = n.msgID
		if !has[i] {
			lines[n.msgID] = append(lines[n.msgID], i)
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if id := callOf[n.parent]; id != "" && n.kind == "user" && !has[i] && t.index()[n.uuid] == i && n.hasResult() {
			results[id] = append(results[id], i)
		}
	}
	if len(lines) == 0 && len(results) == 0 {
		return chain
	}
	return t.attach(chain, lines, results)
}

// attach puts lines and results after the last line of their answer in chain. The
// results that are on the chain follow them, whenever they came.
func (t *thread) attach(chain []int, lines, results map[string][]int) []int {
	end := map[string]int{}
	for i, n := range chain {
		if id := t.nodes[n].msgID; id != "" {
			end[id] = i
		}
	}
	out := make([]int, 0, len(chain)+len(lines)+len(results))
	for i, n := range chain {
		out = append(out, n)
		id := t.nodes[n].msgID
		if id == "" || end[id] != i {
			continue
		}
		out = append(out, t.inOrder(lines[id])...)
		out = append(out, t.inOrder(results[id])...)
	}
	return out
}

// inOrder sorts nodes by time, those of one time by their place.
func (t *thread) inOrder(nodes []int) []int {
	slices.Sort(nodes)
	slices.SortStableFunc(nodes, t.earlier)
	return nodes
}
