package convert

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/sesslog/sesslog/core"
)

// A Side is one of the two sessions that Merge combines. Merge does not change
// its entries.
type Side struct {
	Entries []core.Entry
	Leaf    core.Leaf
}

// Merge returns the entries of a session of dialect d that holds those of a and
// then those of b.
//
// If d is linear, b's entries follow a's. Otherwise the paths to the two leaves
// become one path: entries that both paths begin with are there once, and the
// first entry that only b has follows the end of a's path. Lines keep their bytes
// except for ids that have to change: the parent of that entry, and ids that a
// uses for another entry, with all references to them. Labels are carried over,
// including those set elsewhere in the tree.
//
// New ids are derived from seed and from what they replace, so the same call
// returns the same entries. Returns core.ErrNotFound if a leaf does not exist,
// and core.ErrInvalid if a line cannot be given the parent it needs.
//
// Merge does not decide what the new session means to a model. In particular, a
// compaction of b summarizes b alone, and its agent will not show what is before
// it; see HidesHistory.
func Merge(d core.Dialect, a, b Side, seed string) ([]core.Entry, error) {
	first, err := d.Path(a.Entries, a.Leaf)
	if err != nil {
		return nil, fmt.Errorf("the first session: %w", err)
	}
	second, err := d.Path(b.Entries, b.Leaf)
	if err != nil {
		return nil, fmt.Errorf("the second session: %w", err)
	}
	m := merging{d: d, seed: seed, used: map[string]bool{}, renamed: map[string]string{}}
	m.out = append(m.out, first...)
	if d.Linear() {
		m.rename(first, second)
		return m.out, m.concat(second)
	}
	common := 0
	for common < min(len(first), len(second)) && bytes.Equal(first[common].Line, second[common].Line) {
		common++
	}
	own := second[common:]
	m.rename(first, own)
	if err := m.graft(own); err != nil {
		return nil, err
	}
	return m.out, m.carryLabels(labelsOf(d, a.Entries), labelsOf(d, b.Entries), first, common, own)
}

// merging is the state of one Merge.
type merging struct {
	d       core.Dialect
	seed    string
	used    map[string]bool   // ids that are taken
	renamed map[string]string // new ids of the second path's entries, by their old ids
	out     []core.Entry
}

// rename chooses new ids for the entries of second whose ids first uses.
func (m *merging) rename(first, second []core.Entry) {
	for _, e := range first {
		m.used[e.ID] = true
	}
	var conflicts []string
	for _, e := range second {
		if e.ID != "" && m.used[e.ID] {
			conflicts = append(conflicts, e.ID)
		}
	}
	for _, e := range second {
		m.used[e.ID] = true
	}
	for _, id := range conflicts {
		m.renamed[id] = m.newID(id)
	}
}

// newName returns the id in the merged session of the second path's entry id.
func (m *merging) newName(id string) string {
	if to, ok := m.renamed[id]; ok {
		return to
	}
	return id
}

// newID returns an unused id, derived from from.
func (m *merging) newID(from string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256([]byte(m.seed + "\x00" + from + "\x00" + strconv.Itoa(n)))
		id := m.d.EntryID([16]byte(sum[:16]))
		if !m.used[id] {
			m.used[id] = true
			return id
		}
	}
}

// concat adds the entries of the second session with the parents they have.
func (m *merging) concat(second []core.Entry) error {
	for _, e := range second {
		if err := m.add(e, m.newName(e.Parent)); err != nil {
			return err
		}
	}
	return nil
}

// graft adds the entries that only the second path has, each as a child of the
// entry before it.
func (m *merging) graft(own []core.Entry) error {
	for _, e := range own {
		parent := e.Parent
		if n := len(m.out); n > 0 {
			parent = m.out[n-1].ID
			if parent == "" {
				return fmt.Errorf("the first session ends with an entry that has no id, nothing can follow it: %w", core.ErrInvalid)
			}
		}
		if err := m.add(e, parent); err != nil {
			return err
		}
	}
	return nil
}

// add adds e, an entry of the second session, under its new id and below
// parent. If parent is empty, the entry keeps its own.
func (m *merging) add(e core.Entry, parent string) error {
	id := m.newName(e.ID)
	line := rewriteIDs(e, id, parent, m.renamed)
	f := core.Fields{ID: id}
	if parent != "" {
		f.Parent = core.LeafAt(parent)
	}
	moved, err := m.d.Fill(line, f)
	if err != nil {
		return err
	}
	if moved.ID != id || parent != "" && moved.Parent != parent {
		return fmt.Errorf("entry %q of the second session cannot follow entry %q: %w", e.ID, parent, core.ErrInvalid)
	}
	m.out = append(m.out, moved)
	return nil
}
