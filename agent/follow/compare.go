package follow

import (
	"bytes"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/redact"
)

// A comparison is the difference between a file and a session, given which lines
// the file had when the two were last in step.
type comparison struct {
	fresh     []core.Entry // in the file, and not in the log
	amends    []core.Entry // changed in the file, and not in the log
	conflicts []conflict   // changed in both, or different under one ID
	removed   []core.Entry // removed from the file, and in the log
	// sole: everything that the log has was in the file at some time.
	sole bool
}

// A conflict is a line of the file that the log has with other content.
type conflict struct {
	entry core.Entry
	line  int // in the file, from 1
	why   string
}

// compareFile compares. had may be nil: then every difference is a conflict,
// because it is unknown who changed the line. It changes none of its arguments.
func compareFile(d core.Dialect, had lineSet, logged []core.Entry, f *core.File) comparison {
	c := &comparer{d: d, had: had, byID: map[string]int{}, met: make([]bool, len(logged)), logged: logged}
	c.bytes = make(map[string][]int, len(logged))
	for i := range logged {
		c.bytes[string(logged[i].Line)] = append(c.bytes[string(logged[i].Line)], i)
		if id := logged[i].ID; id != "" {
			c.byID[id] = i
		}
	}
	last := map[string]int{} // of several lines with one ID, the last counts
	for i := range f.Entries {
		if id := f.Entries[i].ID; id != "" {
			last[id] = i
		}
	}
	for i := range f.Entries {
		e := f.Entries[i]
		c.take(e, f.Lines[i], e.ID == "" || last[e.ID] == i)
	}
	c.out.sole = true
	inFile := func(id string) bool { _, ok := last[id]; return ok }
	for i := range logged {
		e := &logged[i]
		if c.met[i] {
			continue
		}
		if had := c.hadLine(e.Line); had && (e.ID == "" || !inFile(e.ID)) {
			c.out.removed = append(c.out.removed, *e)
		} else if !had && !e.Aside {
			c.out.sole = false
		}
	}
	return c.out
}

type comparer struct {
	d      core.Dialect
	had    lineSet
	logged []core.Entry
	byID   map[string]int   // the last of each ID
	bytes  map[string][]int // those that no line of the file has matched yet
	met    []bool
	out    comparison
}

// take compares one entry of the file. counts is false if a later line of the file
// has the same ID.
func (c *comparer) take(e core.Entry, line int, counts bool) {
	if same := c.bytes[string(e.Line)]; len(same) > 0 {
		c.met[same[0]] = true
		c.bytes[string(e.Line)] = same[1:]
		return
	}
	i, there := c.byID[e.ID]
	if e.ID == "" || !there {
		c.out.fresh = append(c.out.fresh, e)
		return
	}
	old := c.logged[i]
	c.met[i] = true
	switch {
	case bytes.Equal(old.Line, e.Line), c.isWrittenAs(old.Line, e.Line), redact.Covers(old.Line, e.Line):
		// repeated in the file, or shortened there, or with secrets that the log lacks
	case !counts:
	case c.hadLine(old.Line) && (old.Parent != e.Parent || old.Type != e.Type || old.Aside != e.Aside):
		c.conflict(e, line, "its parent or type changed, which are immutable")
	case c.hadLine(old.Line):
		c.out.amends = append(c.out.amends, e)
	case c.had.stored(e.Line):
		// changed in the log only
	default:
		c.conflict(e, line, "the log has other bytes under this id")
	}
}

func (c *comparer) conflict(e core.Entry, line int, why string) {
	c.out.conflicts = append(c.out.conflicts, conflict{e, line, why})
}

// hadLine reports whether the file had the line, or what the agent writes of it.
func (c *comparer) hadLine(line []byte) bool {
	if c.had.known(line) {
		return true
	}
	r, ok := c.d.(optional.Rewriter)
	return ok && c.had.known(r.AsWritten(line))
}

// isWrittenAs reports whether the agent writes line as written, here or where the
// session was before.
func (c *comparer) isWrittenAs(line, written []byte) bool {
	if m, ok := c.d.(optional.Mover); ok && m.SameElsewhere(line, written) {
		return true
	}
	r, ok := c.d.(optional.Rewriter)
	return ok && bytes.Equal(r.AsWritten(line), written)
}
