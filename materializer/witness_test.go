package materializer

import (
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session/catalog"
)

// keys returns the names of snapshots, a negative number for a change.
func keys(seqs ...int) (out []blobstore.Info) {
	for _, seq := range seqs {
		kind := "jsonl"
		if seq < 0 {
			seq, kind = -seq, "change"
		}
		out = append(out, blobstore.Info{Key: fmt.Sprintf("snapshots/main/s/%020d-0011223344556677.%s.zst", seq, kind)})
	}
	return out
}

func TestWitnessesProveLoss(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		row       catalog.Row
		snapshots []blobstore.Info
		end       uint64
		proved    uint64 // 0 for no loss
		byRow     bool
		entries   int
	}{
		{name: "nothing", end: 5},
		{name: "all agree", row: catalog.Row{Seq: 5}, snapshots: keys(4), end: 5},
		{name: "the row lags", row: catalog.Row{Seq: 3}, snapshots: keys(3), end: 5},
		{name: "the row is ahead", row: catalog.Row{Seq: 7, Entries: 6}, snapshots: keys(3), end: 5, proved: 7, byRow: true, entries: 6},
		{name: "a snapshot is ahead", snapshots: keys(3, 6), end: 5, proved: 6},
		{name: "a change is ahead", snapshots: keys(3, -6), end: 5, proved: 6},
		{name: "unknown to the log", snapshots: keys(3), end: 0, proved: 3},
		{name: "both ahead, equal", row: catalog.Row{Seq: 6, Entries: 4}, snapshots: keys(6), end: 5, proved: 6, entries: 4},
		{name: "only its checkpoint is lost", row: catalog.Row{Seq: 6, Snapshot: 5, Entries: 4}, snapshots: keys(5), end: 5, proved: 6, byRow: true, entries: 4},
		{name: "erased", row: catalog.Row{Seq: 7, Erased: true}, snapshots: keys(6), end: 5},
		{name: "an object of another program", snapshots: []blobstore.Info{{Key: "snapshots/main/s/readme"}}, end: 0},
	} {
		w := witnesses{row: c.row, snapshots: c.snapshots}
		l := w.loss("s", c.end)
		if c.proved == 0 {
			if l != nil {
				t.Errorf("%s: %v", c.name, l)
			}
			continue
		}
		if l == nil || l.Proved != c.proved || l.End != c.end || l.Entries != c.entries || (l.Witness == report.RowWitness) != c.byRow {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
}

func TestLossIsHealedByRecordsOrLines(t *testing.T) {
	t.Parallel()
	l := &report.Loss{Proved: 10, Entries: 7, Size: 700}
	for _, c := range []struct {
		name    string
		loss    *report.Loss
		seq     uint64
		entries int
		size    int64
		want    bool
	}{
		{"all records", l, 10, 0, 0, true},
		{"all lines in fewer records", l, 4, 7, 700, true},
		{"a line is missing", l, 9, 6, 700, false},
		{"other lines", l, 9, 7, 600, false},
		{"lines unknown", &report.Loss{Proved: 10}, 9, 100, 10000, false},
	} {
		if got := isHealed(c.loss, c.seq, c.entries, c.size); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestWholeSnapshotsAreLatestFirst(t *testing.T) {
	t.Parallel()
	got := wholeSnapshots(keys(2, 4, -5, 6), 3)
	if len(got) != 2 || SnapshotSeq(got[0].Key) != 6 || SnapshotSeq(got[1].Key) != 4 {
		t.Errorf("got %v", got)
	}
}
