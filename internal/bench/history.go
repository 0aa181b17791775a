package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A History is the time to open a session of constant size after many records. The
// log is truncated up to its last snapshot.
type History struct {
	Entries   int    `json:"entries"`
	Records   uint64 `json:"records"`   // stored so far
	Snapshots int    `json:"snapshots"` // written so far, each followed by a truncation
	InLog     uint64 `json:"inLog"`     // bytes of its shard in the log

	// The baseline: read the snapshot, unpack it, parse every line.
	Snapshot    time.Duration `json:"snapshot"` // at p50
	SnapshotP99 time.Duration `json:"snapshotP99"`

	P50   time.Duration `json:"p50"` // to open it, from snapshot and tail
	P99   time.Duration `json:"p99"`
	Ratio float64       `json:"ratio"` // P99 divided by Snapshot: the slowest opening to the usual baseline
}

const (
	// tailRecords is the number of records after a History's snapshot.
	tailRecords = 20
	// truncateEvery is the number of records between two snapshots with truncation.
	truncateEvery = 500
	// batch is the number of openings that are timed before as many of the baseline.
	batch = 20
)

// Histories measures a session of n entries after each of the given numbers of
// records. It times every opening and baseline the given number of times.
func (r *Rig) Histories(ctx context.Context, n, times int, records ...uint64) ([]History, error) {
	id := core.SessionID(fmt.Sprintf("history-%d-%d", n, time.Now().UnixNano()))
	s, err := r.session(ctx, string(id), entries(n))
	if err != nil {
		return nil, err
	}
	var out []History
	h := History{Entries: n}
	for _, h.Records = range records {
		if err := r.grow(ctx, s, &h); err != nil {
			return nil, fmt.Errorf("history of %d records: %w", h.Records, err)
		}
		if err := r.reopen(ctx, s.ID(), &h, times); err != nil {
			return nil, fmt.Errorf("history of %d records: %w", h.Records, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// grow writes to s until it has h's records, the last of which no snapshot covers.
func (r *Rig) grow(ctx context.Context, s *engine.Session, h *History) error {
	upTo := h.Records - tailRecords - 1
	for s.Cursor().Seq < upTo {
		if err := r.rewrite(ctx, s, min(s.Cursor().Seq+truncateEvery, upTo)); err != nil {
			return err
		}
		if err := r.truncate(ctx, s); err != nil {
			return err
		}
		h.Snapshots++
	}
	if err := r.rewrite(ctx, s, h.Records); err != nil {
		return err
	}
	st, err := r.log.State(ctx, r.log.Shard(s.ID()))
	h.InLog = st.Bytes
	return err
}

// truncate writes a snapshot of s and truncates the records that it covers.
func (r *Rig) truncate(ctx context.Context, s *engine.Session) error {
	if err := r.checkpoint(ctx, s); err != nil {
		return err
	}
	shard := r.log.Shard(s.ID())
	st, err := r.log.State(ctx, shard)
	if err != nil {
		return err
	}
	return r.sessions.Truncate(ctx, r.log, shard, st.Last-1, r.checkpoint)
}

// reopen measures the session in its current state. It alternates between opening
// and the baseline, so that other load affects both.
func (r *Rig) reopen(ctx context.Context, id core.SessionID, h *History, times int) error {
	fresh, err := r.sessions.Open(ctx, id)
	if err != nil {
		return err
	}
	m, snapshots := fresh.BaseManifest(), materializer.NewSnapshots(r.bucket)
	var opened, base []time.Duration
	for len(opened) < times {
		n := min(batch, times-len(opened))
		took, err := timed(n, func() error {
			_, err := r.sessions.Open(ctx, id)
			return err
		})
		if err != nil {
			return err
		}
		opened = append(opened, took...)
		took, err = timed(n, func() error {
			plain, err := snapshots.Read(ctx, m)
			if err != nil {
				return err
			}
			return parse(plain)
		})
		if err != nil {
			return err
		}
		base = append(base, took...)
	}
	slices.Sort(opened)
	slices.Sort(base)
	h.P50, h.P99 = opened[len(opened)/2], opened[len(opened)*99/100]
	h.Snapshot, h.SnapshotP99 = base[len(base)/2], base[len(base)*99/100]
	h.Ratio = float64(h.P99) / float64(h.Snapshot)
	return nil
}

// rewrite replaces entries until the session has had upTo records.
func (r *Rig) rewrite(ctx context.Context, s *engine.Session, upTo uint64) error {
	for {
		seq := s.Cursor().Seq
		if seq >= upTo {
			return nil
		}
		_, err := s.Amend(ctx, engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
			i := int(seq) % len(st.Entries)
			parent := core.NoLeaf
			if p := st.Entries[i].Parent; p != "" {
				parent = core.LeafAt(p)
			}
			text := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":"again, in record %d, %s","timestamp":%d}}`, seq, filler(i), i)
			e, err := st.Dialect.Fill([]byte(text), core.Fields{ID: st.Entries[i].ID, Parent: parent, Time: "2026-01-02T03:04:05.000Z"})
			return []core.Entry{e}, err
		}})
		if err != nil {
			return err
		}
	}
}

// timed returns the durations of several calls of f, after a garbage collection.
func timed(times int, f func() error) ([]time.Duration, error) {
	runtime.GC()
	took := make([]time.Duration, times)
	for i := range took {
		t := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took[i] = time.Since(t)
	}
	return took, nil
}
