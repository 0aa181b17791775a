package follow

import (
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
)

// An addition is how new lines of a file get into the log.
type addition int

const (
	addNone   addition = iota
	addImport          // import the file, with the log's lines in place of others
	addAll             // append all lines at the start of a head: nothing of the file is in the log
)

// A plan says what a comparison requires of the log, beside amends and conflicts.
type plan struct {
	wait     bool      // the agent may be rewriting the file: compare it again later
	moveHead bool      // the head points to a removed line
	leaf     core.Leaf // with moveHead: where it goes
	add      addition
}

// planMerge decides what to do after a comparison. own is the file, and at is
// where its head points. unchanged is how long the file has not changed.
func planMerge(d core.Dialect, c *comparison, own *core.File, logged int, at core.Leaf, unchanged time.Duration) plan {
	if len(c.removed) > 0 && unchanged < settleDelay {
		return plan{wait: true}
	}
	var p plan
	if id, ok := at.ID(); ok && !d.Linear() && hasID(c.removed, id) {
		p.moveHead, p.leaf = true, anchor(d, own, c.fresh)
	}
	switch {
	case len(c.fresh) == 0:
	case len(c.fresh) == len(own.Entries) && logged > 0:
		p.add = addAll
	default:
		p.add = addImport
	}
	return p
}

// anchor returns the last entry of the file that the log has: new lines continue
// there, or before it.
func anchor(d core.Dialect, own *core.File, fresh []core.Entry) core.Leaf {
	if len(fresh) == 0 {
		return wantedLeaf(d, own)
	}
	isFresh := map[string]bool{}
	for _, e := range fresh {
		isFresh[e.ID] = true
	}
	for i := len(own.Entries) - 1; i >= 0; i-- {
		if e := own.Entries[i]; !e.Aside && e.ID != "" && !isFresh[e.ID] {
			return core.LeafAt(e.ID)
		}
	}
	return core.NoLeaf
}

// wantedLeaf returns where the agent continues after it has read the file.
func wantedLeaf(d core.Dialect, own *core.File) core.Leaf {
	if !core.AnyInTree(own.Entries) {
		return core.NoLeaf
	}
	leaf := d.Leaf(own.Entries)
	if id, ok := leaf.ID(); ok && !hasID(own.Entries, id) {
		return core.NoLeaf
	}
	return leaf
}

func hasID(es []core.Entry, id string) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool { return e.ID == id })
}
