package doctor

import (
	"testing"

	"github.com/sesslog/sesslog/session/catalog"
)

func TestKeptSnapshotIsFoundByPartsOrLaterSnapshot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		kept kept
		row  catalog.Row
		has  bool
	}{
		{"whole", kept{seqs: []uint64{7}}, catalog.Row{Snapshot: 7, Kept: 7}, true},
		{"of earlier lines", kept{seqs: []uint64{5}}, catalog.Row{Snapshot: 7, Kept: 5}, true},
		{"a row that is behind", kept{seqs: []uint64{9}}, catalog.Row{Snapshot: 7, Kept: 7}, true},
		{"nothing", kept{}, catalog.Row{Snapshot: 7, Kept: 7}, false},
		{"an older one", kept{seqs: []uint64{5}}, catalog.Row{Snapshot: 7, Kept: 7}, false},
		{"of parts", kept{seqs: []uint64{3}, changes: []uint64{5, 6}}, catalog.Row{Snapshot: 7, Kept: 3, Changes: []uint64{5}}, true},
		{"of parts, put back whole", kept{seqs: []uint64{7}}, catalog.Row{Snapshot: 7, Kept: 3, Changes: []uint64{5}}, true},
		{"its first part is gone", kept{changes: []uint64{5, 6}}, catalog.Row{Snapshot: 7, Kept: 3, Changes: []uint64{5}}, false},
		{"a change is gone", kept{seqs: []uint64{3}, changes: []uint64{6}}, catalog.Row{Snapshot: 7, Kept: 3, Changes: []uint64{5}}, false},
		{"a change in its place", kept{changes: []uint64{7}}, catalog.Row{Snapshot: 7, Kept: 7}, false},
	} {
		if got := c.kept.has(&c.row); got != c.has {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
