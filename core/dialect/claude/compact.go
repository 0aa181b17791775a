package claude

import (
	"slices"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// afterCompaction returns the part of a chain that the model still sees: from
// the last compaction on, with the lines that it preserved after their anchor.
func (t *thread) afterCompaction(chain []int) []int {
	if way := t.relinked(chain); way != nil {
		return way
	}
	at := len(chain) - 1
	for at >= 0 && !t.isBoundary(chain[at]) {
		at--
	}
	if at < 0 {
		return chain
	}
	kept := chain[at:]
	meta := member(t.nodes[chain[at]].line, "compactMetadata")
	anchor, preserved := t.preserved(meta)
	i := slices.IndexFunc(kept, func(n int) bool { return t.nodes[n].uuid == anchor })
	if i < 0 || len(preserved) == 0 {
		return kept
	}
	has := map[int]bool{}
	for _, n := range kept {
		has[n] = true
	}
	preserved = slices.DeleteFunc(preserved, func(n int) bool { return has[n] })
	return slices.Concat(kept[:i+1], preserved, kept[i+1:])
}

// relinked returns what the model sees of a chain that leaves the last compaction
// aside but has the first line that it preserved, which then follows the anchor.
// It returns nil for other chains.
func (t *thread) relinked(chain []int) []int {
	if len(chain) == 0 {
		return nil
	}
	at := chain[len(chain)-1]
	for at >= 0 && !t.isBoundary(at) {
		at--
	}
	if at < 0 || slices.Contains(chain, at) {
		return nil
	}
	anchor, preserved := t.preserved(member(t.nodes[at].line, "compactMetadata"))
	if len(preserved) == 0 {
		return nil
	}
	first := slices.Index(chain, preserved[0])
	a, ok := t.index()[anchor]
	if first < 0 || !ok {
		return nil
	}
	before := t.chain(a)
	from := slices.Index(before, at)
	if from < 0 {
		return nil
	}
	return slices.Concat(before[from:], chain[first:])
}

func (t *thread) isBoundary(at int) bool {
	n := &t.nodes[at]
	return n.kind == "system" && member(n.line, "subtype").Is("compact_boundary")
}

// preserved returns the lines that a compaction preserved, and the line after
// which they are sent. There are none unless all of them are there.
func (t *thread) preserved(meta jsjson.Value) (anchor string, nodes []int) {
	segment := member(meta, "preservedSegment")
	head, tail := text(member(segment, "headUuid")), text(member(segment, "tailUuid"))
	if nodes = t.segment(head, tail); nodes != nil {
		return text(member(segment, "anchorUuid")), nodes
	}
	messages := member(meta, "preservedMessages")
	complete := true
	_ = jsjson.Each(member(messages, "uuids"), func(v jsjson.Value) {
		at, ok := t.index()[text(v)]
		complete = complete && ok
		nodes = append(nodes, at)
	})
	if !complete {
		return "", nil
	}
	return text(member(messages, "anchorUuid")), nodes
}

// segment returns the nodes from head to tail, or nil if tail does not lead to
// head.
func (t *thread) segment(head, tail string) []int {
	var way []int
	at, ok := t.index()[tail]
	for ok && len(way) <= len(t.nodes) {
		way = append(way, at)
		if t.nodes[at].uuid == head {
			slices.Reverse(way)
			return way
		}
		at, ok = t.find(t.nodes[at].parent, at)
	}
	return nil
}
