package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// A History is what it took to open a session that was written to for so long,
// and is always as large. What was before its last snapshot has left the log.
type History struct {
	Entries  int           `json:"entries"`
	Records  uint64        `json:"records"`  // that were stored of it
	Snapshot time.Duration `json:"snapshot"` // the baseline, at p99: get its snapshot, unpack it, parse every line
	P50      time.Duration `json:"p50"`      // to open it, from snapshot and tail
	P99      time.Duration `json:"p99"`
	Ratio    float64       `json:"ratio"` // P99 to Snapshot
	InLog    uint64        `json:"inLog"` // bytes that its shard has in the log
}

// tailRecords is how many records lie behind a History's snapshot.
const tailRecords = 20

// Histories measures sessions of n entries with that many records behind them
// altogether, each opened and its baseline taken so many times.
func (r *Rig) Histories(ctx context.Context, n, times int, records ...uint64) ([]History, error) {
	id := core.SessionID(fmt.Sprintf("history-%d-%d", n, time.Now().UnixNano()))
	s, err := r.session(ctx, string(id), entries(n))
	if err != nil {
		return nil, err
	}
	var out []History
	for _, upTo := range records {
		h, err := r.history(ctx, s, upTo, times)
		if err != nil {
			return nil, fmt.Errorf("history of %d records: %w", upTo, err)
		}
		h.Entries = n
		out = append(out, h)
	}
	return out, nil
}

func (r *Rig) history(ctx context.Context, s *stream.Session, records uint64, times int) (h History, err error) {
	if err := r.rewrite(ctx, s, records-tailRecords-1); err != nil {
		return h, err
	}
	if err := r.checkpoint(ctx, s); err != nil {
		return h, err
	}
	shard := r.log.Shard(s.ID())
	st, err := r.log.State(ctx, shard)
	if err != nil {
		return h, err
	}
	err = r.sessions.Truncate(ctx, r.log, shard, st.Last-1, func(ctx context.Context, s *stream.Session) error { return r.checkpoint(ctx, s) })
	if err != nil {
		return h, err
	}
	if err := r.rewrite(ctx, s, records); err != nil {
		return h, err
	}
	if st, err = r.log.State(ctx, shard); err != nil {
		return h, err
	}
	h.Records, h.InLog = records, st.Bytes
	opened, err := timed(times, func() error {
		_, err := r.sessions.Open(ctx, s.ID())
		return err
	})
	if err != nil {
		return h, err
	}
	fresh, err := r.sessions.Open(ctx, s.ID())
	if err != nil {
		return h, err
	}
	snapshots := materializer.NewSnapshots(r.bucket)
	base, err := timed(times, func() error {
		plain, err := snapshots.Read(ctx, fresh.Begun())
		if err != nil {
			return err
		}
		return parse(plain)
	})
	if err != nil {
		return h, err
	}
	h.P50, h.P99, h.Snapshot = opened[len(opened)/2], opened[len(opened)*99/100], base[len(base)*99/100]
	h.Ratio = float64(h.P99) / float64(h.Snapshot)
	return h, nil
}

// rewrite replaces entries until the session has had so many records.
func (r *Rig) rewrite(ctx context.Context, s *stream.Session, upTo uint64) error {
	for {
		var seq uint64
		_ = s.View(func(st *core.State) error {
			seq = st.Seq
			return nil
		})
		if seq >= upTo {
			return nil
		}
		_, err := s.Amend(ctx, stream.Amend{Change: func(st *core.State) ([]core.Entry, error) {
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

// timed returns how long f took, so many times, the shortest first.
func timed(times int, f func() error) ([]time.Duration, error) {
	took := make([]time.Duration, times)
	for i := range took {
		t := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took[i] = time.Since(t)
	}
	slices.Sort(took)
	return took, nil
}
