package core

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
)

// CopyPath returns the entries of a session made from one path of another: the
// entries from the root to leaf, unchanged, followed by new label entries, so
// that every entry of the path keeps its label. Label entries on the path stay
// where they are, so no entry loses its parent and no compaction loses what it
// keeps. The ids of the new entries are derived from their content. Returns
// ErrNotFound if leaf names an entry that does not exist.
func CopyPath(d Dialect, h Header, es []Entry, leaf Leaf) ([]Entry, error) {
	path, err := d.Path(es, leaf)
	if err != nil || len(path) == 0 {
		return nil, err
	}
	path = slices.Clone(path)
	want, err := d.Info(h, es, leaf)
	if err != nil {
		return nil, err
	}
	have, err := d.Info(h, path, LeafAt(path[len(path)-1].ID))
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool, len(es))
	for i := range es {
		taken[es[i].ID] = true
	}
	times := labelTimes(d, es)
	parent := path[len(path)-1]
	for _, e := range path {
		label := want.Labels[e.ID]
		if e.ID == "" || label == have.Labels[e.ID] {
			continue
		}
		f := Fields{ID: freeID(d, taken, e.ID, label), Time: times[e.ID], Parent: NoLeaf}
		if f.Time == "" {
			f.Time = parent.Time
		}
		if parent.ID != "" {
			f.Parent = LeafAt(parent.ID)
		}
		made, err := d.Fill(d.NewLabel(e.ID, label), f)
		if err != nil {
			return nil, fmt.Errorf("label of entry %q: %w", clip(e.ID, 64), err)
		}
		path, parent = append(path, made), made
		have.Labels[e.ID] = label // an id may be used twice
	}
	return path, nil
}

// labelTimes returns when each entry was last labeled.
func labelTimes(d Translator, es []Entry) map[string]string {
	times := map[string]string{}
	for _, e := range es {
		for _, it := range d.Read(e) {
			if it.Kind == ItemLabel {
				times[it.Target] = e.Time
			}
		}
	}
	return times
}

// freeID makes an id of the dialect's shape of words, and takes it.
func freeID(d Encoder, taken map[string]bool, words ...string) string {
	for n := 0; ; n++ {
		h := sha256.New()
		for _, w := range append(words, strconv.Itoa(n)) {
			fmt.Fprintf(h, "%d:%s", len(w), w)
		}
		id := d.EntryID([16]byte(h.Sum(nil)))
		if !taken[id] {
			taken[id] = true
			return id
		}
	}
}
