package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// holdings are the last records of the sessions, some 100 bytes each.
type holdings map[core.SessionID]holding

// A holding describes a session's last record.
type holding struct {
	Kind core.Kind
	Seq  uint64
}

// catchUpTime limits the wait for the listing to catch up with the log.
const catchUpTime = 10 * time.Second

// listing compares the rows with the streams.
func (d *Doctor) listing(ctx context.Context, f *finder, held holdings) (string, error) {
	for shard := range d.Log.Shards() {
		st, err := d.Log.State(ctx, shard)
		if err != nil {
			return "", err
		}
		for ch, err := range d.Log.Walk(ctx, shard, st, st.Last) {
			if err != nil {
				return "", err
			}
			if ch.Session != "" {
				held[ch.Session] = holding{ch.Kind, ch.Seq}
			}
		}
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if err := d.Materializer.CatchUp(waiting); err != nil && ctx.Err() != nil {
		return "", err
	}
	if err := d.Directory.Err(); err != nil {
		f.add(report.Danger, "directory", err.Error()+"; listings and searches of this node are out of date", "free space on the node's disk, then restart the node")
	}
	for _, id := range slices.Sorted(maps.Keys(held)) {
		h := held[id]
		if h.Kind == core.KindErase || d.Directory.Seq(id) >= h.Seq {
			continue
		}
		d.stale(ctx, f, id, h)
	}
	return count(len(held), "session", "sessions") + " in the log", nil
}

// stale checks a session whose row lags behind the log, or that has none.
func (d *Doctor) stale(ctx context.Context, f *finder, id core.SessionID, h holding) {
	s, err := d.Sessions.Open(ctx, id)
	if err != nil {
		f.add(report.Danger, string(id), "it cannot be read, so its listing is out of date: "+err.Error(), "sessctl verify "+string(id))
		return
	}
	f.addTreatable(report.Warning, string(id), fmt.Sprintf("its row is of record %d, the log ends at %d", d.Directory.Seq(id), h.Seq), "sessctl doctor --fix", func(context.Context) error {
		d.Materializer.Remake(s)
		return nil
	})
}

// kept is what the bucket has of one session's snapshots.
type kept struct {
	seqs    []uint64 // of whole ones
	changes []uint64
	objects []object
	bytes   int64
}

// has reports whether a row's snapshot can be read, judging by names: from its
// parts, or from a whole one that covers as much.
func (k *kept) has(row *catalog.Row) bool {
	if len(k.seqs) > 0 && slices.Max(k.seqs) >= row.Snapshot {
		return true
	}
	return slices.Contains(k.seqs, row.Kept) && !slices.ContainsFunc(row.Changes, func(seq uint64) bool {
		return !slices.Contains(k.changes, seq)
	})
}

// manySnapshots is more than a session should have: the live one, the previous one,
// and those being written.
const manySnapshots = 4

// snapshots compares the bucket with the rows and the log. It reads the names of all
// snapshots, and the content of some that are needed.
func (d *Doctor) snapshots(ctx context.Context, f *finder, held holdings) (string, error) {
	all, objects, err := d.keptSnapshots(ctx)
	if err != nil {
		return "", err
	}
	var old, oldBytes int64
	var some sample
	var missing []core.SessionID
	for row, err := range d.Directory.Rows(ctx) {
		if err != nil {
			return "", err
		}
		k := all[row.ID]
		if row.Snapshot == 0 || row.Erased {
			continue
		}
		for _, o := range k.needed(&row) {
			some.add(o)
		}
		if !k.has(&row) {
			missing = append(missing, row.ID)
			f.addTreatable(report.Danger, string(row.ID), fmt.Sprintf("its snapshot of record %d is missing", row.Snapshot), "sessctl verify --repair "+string(row.ID), d.repair(row.ID))
		}
	}
	for _, id := range missing[:min(len(missing), verifiedMost)] { // status names them then
		if _, err := d.Verifier.Verify(ctx, id); ctx.Err() != nil {
			return "", err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		k := all[id]
		h, known := held[id]
		n := len(k.seqs) + len(k.changes)
		if h.Kind == core.KindErase {
			f.add(report.Danger, string(id), fmt.Sprintf("it was erased, but %s of it remain", count(n, "snapshot", "snapshots")), "sessctl erase "+string(id)+" --yes --why \"again\"")
			continue
		}
		if !known && d.Materializer.Guard().Loss(id) != nil {
			continue // the check of losses has it
		}
		if !known {
			f.add(report.Note, string(id), fmt.Sprintf("%s of a session that is not in the log, %d bytes", count(n, "snapshot", "snapshots"), k.bytes), "if the log lost it, restore it from a backup; otherwise they are unused")
		} else if len(k.seqs) > manySnapshots {
			old += int64(len(k.seqs) - 1)
			oldBytes += k.bytes
		}
	}
	if old > 0 {
		f.add(report.Note, "snapshots", fmt.Sprintf("%s, superseded by later ones, %s", count(int(old), "snapshot", "snapshots"), sizeOf(oldBytes)), "they are deleted automatically, snapshots.grace after a later one was written")
	}
	read, err := d.contents(ctx, f, &some)
	return fmt.Sprintf("%s; read %d of %d that are needed", count(objects, "object", "objects"), read, some.of), err
}

func (d *Doctor) keptSnapshots(ctx context.Context) (map[core.SessionID]kept, int, error) {
	all, objects := map[core.SessionID]kept{}, 0
	prefix := "snapshots/" + d.Log.Name() + "/"
	for o, err := range d.Bucket.List(ctx, prefix) {
		if err != nil {
			return nil, 0, err
		}
		id, name, _ := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
		seq := materializer.SnapshotSeq(name)
		if seq == 0 {
			continue // an object of another program
		}
		k := all[core.SessionID(id)]
		if materializer.IsChange(name) {
			k.changes = append(k.changes, seq)
		} else {
			k.seqs = append(k.seqs, seq)
		}
		k.objects = append(k.objects, object{core.SessionID(id), o.Key, o.Size})
		k.bytes += o.Size
		all[core.SessionID(id)] = k
		objects++
	}
	return all, objects, nil
}

// repair repairs a session from other copies.
func (d *Doctor) repair(id core.SessionID) func(context.Context) error {
	return func(ctx context.Context) error {
		left, _, err := d.Verifier.Repair(ctx, id)
		if err != nil {
			return err
		}
		if len(left.Problems) > 0 {
			return fmt.Errorf("%s: %w", left.Problems[0].Detail, core.ErrCorrupt)
		}
		return nil
	}
}
