package join

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/sesslog/sesslog/core"
)

// A Side is one of the sessions to be joined. Its entries are not changed.
type Side struct {
	Entries []core.Entry
	Leaf    core.Leaf
}

// Entries returns the entries of both sides, a's first, as a new session of
// dialect d holds them. New ids are derived from seed and what they stand for,
// so the same call gives the same entries. core.ErrNotFound for a leaf that is
// not there, core.ErrInvalid where a line cannot be given the parent it needs.
func Entries(d core.Dialect, a, b Side, seed string) ([]core.Entry, error) {
	first, err := d.Path(a.Entries, a.Leaf)
	if err != nil {
		return nil, fmt.Errorf("the first session: %w", err)
	}
	second, err := d.Path(b.Entries, b.Leaf)
	if err != nil {
		return nil, fmt.Errorf("the second session: %w", err)
	}
	j := joint{d: d, seed: seed, used: map[string]bool{}, named: map[string]string{}}
	j.es = append(j.es, first...)
	if d.Linear() {
		j.rename(first, second)
		return j.es, j.concat(second)
	}
	common := 0
	for common < min(len(first), len(second)) && bytes.Equal(first[common].Line, second[common].Line) {
		common++
	}
	own := second[common:]
	j.rename(first, own)
	if err := j.graft(own); err != nil {
		return nil, err
	}
	return j.es, j.carryLabels(labelsOf(d, a.Entries), labelsOf(d, b.Entries), first, common, own)
}

// A joint is two paths on their way to be one.
type joint struct {
	d     core.Dialect
	seed  string
	used  map[string]bool   // ids that are taken
	named map[string]string // new ids of the second path's entries, by their old ones
	es    []core.Entry
}

// rename gives new ids to those entries of second whose ids first uses.
func (j *joint) rename(first, second []core.Entry) {
	for _, e := range first {
		j.used[e.ID] = true
	}
	var clash []string
	for _, e := range second {
		if e.ID != "" && j.used[e.ID] {
			clash = append(clash, e.ID)
		}
	}
	for _, e := range second {
		j.used[e.ID] = true
	}
	for _, id := range clash {
		j.named[id] = j.newID(id)
	}
}

// newName is what the second path's entry called id is called now.
func (j *joint) newName(id string) string {
	if to, ok := j.named[id]; ok {
		return to
	}
	return id
}

// newID returns an id that nobody uses, derived from what it stands for.
func (j *joint) newID(from string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256([]byte(j.seed + "\x00" + from + "\x00" + strconv.Itoa(n)))
		id := j.d.EntryID([16]byte(sum[:16]))
		if !j.used[id] {
			j.used[id] = true
			return id
		}
	}
}

// concat puts the second session's entries behind the first's.
func (j *joint) concat(second []core.Entry) error {
	for _, e := range second {
		if err := j.add(e, j.newName(e.Parent)); err != nil {
			return err
		}
	}
	return nil
}

// graft puts what is the second path's alone behind the first path, each entry
// on the one before it.
func (j *joint) graft(own []core.Entry) error {
	for _, e := range own {
		parent := e.Parent
		if n := len(j.es); n > 0 {
			parent = j.es[n-1].ID
			if parent == "" {
				return fmt.Errorf("the first session ends with an entry that has no id, nothing can follow it: %w", core.ErrInvalid)
			}
		}
		if err := j.add(e, parent); err != nil {
			return err
		}
	}
	return nil
}

// add adds e, an entry of the second session, under its new id and below
// parent; empty leaves it the parent that it has.
func (j *joint) add(e core.Entry, parent string) error {
	id := j.newName(e.ID)
	line := readdress(e.Line, id, parent, j.named)
	f := core.Fields{ID: id}
	if parent != "" {
		f.Parent = core.LeafAt(parent)
	}
	moved, err := j.d.Fill(line, f)
	if err != nil {
		return err
	}
	if moved.ID != id || parent != "" && moved.Parent != parent {
		return fmt.Errorf("entry %q of the second session cannot be put behind entry %q: %w", e.ID, parent, core.ErrInvalid)
	}
	j.es = append(j.es, moved)
	return nil
}
