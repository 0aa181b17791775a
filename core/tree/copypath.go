package tree

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// CopyPath returns the entries of a session made from one path of another: the
// entries from the root to leaf, unchanged, followed by new label entries, so
// that every entry of the path keeps its label. Label entries on the path stay
// where they are, so no entry loses its parent and no compaction loses what it
// keeps. The ids of the new entries are derived from their content. Returns
// ErrNotFound if leaf names an entry that does not exist.
func CopyPath(d core.Dialect, h core.Header, es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	path, err := d.Path(es, leaf)
	if err != nil || len(path) == 0 {
		return nil, err
	}
	path = slices.Clone(path)
	want, err := d.Info(h, es, leaf)
	if err != nil {
		return nil, err
	}
	have, err := d.Info(h, path, core.LeafAt(path[len(path)-1].ID))
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
		f := core.Fields{ID: freeID(d, taken, e.ID, label), Time: times[e.ID], Parent: core.NoLeaf}
		if f.Time == "" {
			f.Time = parent.Time
		}
		if parent.ID != "" {
			f.Parent = core.LeafAt(parent.ID)
		}
		made, err := d.Fill(d.NewLabel(e.ID, label), f)
		if err != nil {
			return nil, fmt.Errorf("label of entry %.64q: %w", e.ID, err)
		}
		path, parent = append(path, made), made
		have.Labels[e.ID] = label // an id may be used twice
	}
	return path, nil
}

// labelTimes returns when each entry was last labeled.
func labelTimes(d core.Translator, es []core.Entry) map[string]string {
	times := map[string]string{}
	for _, e := range es {
		for _, it := range d.Read(e) {
			if it.Kind == item.Label {
				times[it.Target] = e.Time
			}
		}
	}
	return times
}

// freeID makes an id of the dialect's shape of words, and takes it.
func freeID(d core.Encoder, taken map[string]bool, words ...string) string {
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
