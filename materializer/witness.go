package materializer

import (
	"strings"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session/catalog"
)

// witnesses are what proves which records a session had, apart from the log.
type witnesses struct {
	row       catalog.Row      // its Seq is 0 if there is none
	snapshots []blobstore.Info // oldest first
}

// latest returns the last snapshot, "" if there is none, and its record.
func (w *witnesses) latest() (key string, seq uint64) {
	for _, s := range w.snapshots {
		if n := SnapshotSeq(s.Key); n >= seq && n > 0 {
			key, seq = s.Key, n
		}
	}
	return key, seq
}

// loss returns the loss of a session that ends with record end in the log, nil if
// nothing proves one.
func (w *witnesses) loss(id core.SessionID, end uint64) *report.Loss {
	key, seq := w.latest()
	l := &report.Loss{Session: id, End: end, Proved: seq, Witness: key}
	if w.row.Seq > seq && !w.row.Erased {
		l.Proved, l.Witness = w.row.Seq, report.RowWitness
	}
	if l.Proved <= end || w.row.Erased {
		return nil
	}
	if w.row.Seq == l.Proved || w.row.Seq == seq+1 && w.row.Snapshot == seq {
		l.Entries, l.Size, l.Dialect = w.row.Entries, w.row.Size, w.row.Dialect
	}
	if l.Dialect == "" {
		l.Dialect = w.row.Dialect
	}
	return l
}

// isHealed reports whether a session with that last record, entries and size has all
// that l proves. A restored session has fewer records than were lost: then its lines
// are compared with what the row said of them.
func isHealed(l *report.Loss, seq uint64, entries int, size int64) bool {
	return seq >= l.Proved || l.Entries > 0 && entries >= l.Entries && size >= l.Size
}

// wholeSnapshots returns the snapshots after record end that can be read without
// others, the latest first.
func wholeSnapshots(all []blobstore.Info, end uint64) []blobstore.Info {
	var out []blobstore.Info
	for i := len(all) - 1; i >= 0; i-- {
		if SnapshotSeq(all[i].Key) > end && !IsChange(all[i].Key) && strings.HasSuffix(all[i].Key, ".jsonl.zst") {
			out = append(out, all[i])
		}
	}
	return out
}
