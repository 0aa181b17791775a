package follow

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

// A comparison is what a file and a session come to, given which lines the file
// had when the two were last in step.
type comparison struct {
	fresh    []core.Entry // in the file, and not in the log
	amends   []core.Entry // they changed in the file, and not in the log
	clashes  []clash      // they changed in both, or say other things under one id
	vanished []core.Entry // they left the file, and are in the log
	// sole: all that the log has was in the file at some time.
	sole bool
}

// A clash is a line of the file that the log has otherwise.
type clash struct {
	entry core.Entry
	line  int // its number in the file
	why   string
}

// compare compares. had may be nil: then what differs is a clash, for nobody
// knows who changed it. None of its arguments is changed.
func compare(d core.Dialect, had set, logged []core.Entry, f *core.File) comparison {
	c := &comparer{d: d, had: had, byID: map[string]int{}, met: make([]bool, len(logged)), logged: logged}
	c.bytes = make(map[string][]int, len(logged))
	for i := range logged {
		c.bytes[string(logged[i].Line)] = append(c.bytes[string(logged[i].Line)], i)
		if id := logged[i].ID; id != "" {
			c.byID[id] = i
		}
	}
	last := map[string]int{} // of several lines with one id the last one counts
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
		if e := logged[i]; !c.met[i] && !(e.ID != "" && inFile(e.ID)) && c.wasHere(e.Line) {
			c.out.vanished = append(c.out.vanished, e)
		}
		if e := &logged[i]; !c.met[i] && !e.Aside && !c.wasHere(e.Line) {
			c.out.sole = false
		}
	}
	return c.out
}

type comparer struct {
	d      core.Dialect
	had    set
	logged []core.Entry
	byID   map[string]int   // the last of each id
	bytes  map[string][]int // those that no line of the file met yet
	met    []bool
	out    comparison
}

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
	case bytes.Equal(old.Line, e.Line), c.isWritten(old.Line, e.Line):
		// repeated in the file, or shortened there
	case !counts:
		// A later line of the file has this id.
	case c.wasHere(old.Line) && (old.Parent != e.Parent || old.Type != e.Type || old.Aside != e.Aside):
		c.clash(e, line, "it has another place or type than it had, which an entry keeps")
	case c.wasHere(old.Line):
		c.out.amends = append(c.out.amends, e)
	case c.had.had(e.Line):
		// it is as it was here, and somebody changed it in the log
	default:
		c.clash(e, line, "the log has other bytes under this id")
	}
}

func (c *comparer) clash(e core.Entry, line int, why string) {
	c.out.clashes = append(c.out.clashes, clash{e, line, why})
}

// wasHere reports whether the file had the line, or what its agent writes of it.
func (c *comparer) wasHere(line []byte) bool {
	if c.had.maybe(line) {
		return true
	}
	r, ok := c.d.(core.Rewriter)
	return ok && c.had.maybe(r.AsWritten(line))
}

func (c *comparer) isWritten(line, written []byte) bool {
	r, ok := c.d.(core.Rewriter)
	return ok && bytes.Equal(r.AsWritten(line), written)
}

// announced is what the hash of a line is combined with before it is known to be
// in the log. A line that is there under such a hash came from this file; that
// the file had it while the log had something else proves nothing.
const announced = 0x9e3779b97f4a7c15

// hash is how a line is remembered. That two differ and have one hash costs a
// record that one of them left the file, and no line.
func hash(line []byte) uint64 { return xxhash.Sum64(line) }
