package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// A broker may lose the end of a log that it had acknowledged: it lost power before a flush, or
// its disk was restored from an older copy. A process that still has the records stores them
// again. See the package comment.

// reinstate loads the session again and stores what the log has lost of it. If the
// log ends with a known record, the records after it are stored again, unchanged;
// other nodes may do the same. If another writer has continued, the missing lines go
// to a separate head. The returned view has all of it. gone is why the log has
// nothing of the session, or nil.
func (s *Session) reinstate(ctx context.Context, gone error) (view, error) {
	rewritten, rescued := 0, 0
	for {
		v, err := s.ss.load(ctx, s.id)
		if gone != nil && errors.Is(err, core.ErrNotFound) {
			v, err = view{st: core.NewState(s.ss.cfg.Log.Name(), s.id, s.ss.cfg.Dialects)}, nil
		}
		if err != nil {
			return view{}, err
		}
		again := false
		for !again {
			r, err := s.nextMissing(&v)
			if err != nil {
				return view{}, err
			}
			if r == nil && v.st.Seq == 0 {
				return view{}, gone
			}
			if r == nil {
				s.ss.lost.count(s.ss.cfg.Logger, s.id, rewritten, rescued)
				return v, nil
			}
			stored, err := s.storeAgain(ctx, &v, r)
			if err != nil {
				return view{}, err
			}
			again = !stored
			switch {
			case stored && r.Redo:
				rewritten++
			case stored:
				rescued += r.Count
			}
		}
		if err := retry.Pause(ctx); err != nil {
			return view{}, fmt.Errorf("repair session %s: %v: %w", s.id, err, core.ErrUnavailable)
		}
	}
}

// storeAgain stores r after v and folds it. It returns false if another record came
// first or only a read can tell.
func (s *Session) storeAgain(ctx context.Context, v *view, r *core.Record) (stored bool, err error) {
	s.ss.renewBlobs(ctx, s.id, r.Body)
	pos, err := s.ss.cfg.Log.Append(storage.WithReserve(ctx), s.id, v.end.pos, r)
	if errors.Is(err, core.ErrConflict) || errors.Is(err, core.ErrUncertain) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("repair session %s: %w", s.id, err)
	}
	r.Pos, r.After = pos, v.end.pos
	return true, v.fold(r)
}

// nextMissing returns the next record that v needs to have all that this process
// knows, or nil.
func (s *Session) nextMissing(v *view) (*core.Record, error) {
	switch {
	case v.st.Seq == s.st.Seq && v.st.Chain == s.st.Chain:
		return s.rescue(v, s.pendingLines)
	case v.st.Erased != nil, s.st.Erased != nil && v.st.Seq >= s.st.Seq:
		return nil, nil
	}
	if known := v.recent.at(s.st.Seq); known != nil && known.Chain == s.st.Chain {
		return s.rescue(v, s.pendingLines)
	}
	if next := s.recent.at(v.st.Seq + 1); next != nil && v.st.Follows(next) && v.end.pos == v.st.Pos {
		return reinstated(v, next), nil
	}
	return s.rescue(v, slices.Concat(s.st.Entries, missingFrom(s.st, s.pendingLines)))
}

// reinstated returns r as it is stored again after v.
func reinstated(v *view, r *core.Record) *core.Record {
	again := *r
	again.Redo, again.Restored = true, false
	switch r.Kind {
	case core.KindOpen:
		again.Base = 0
	case core.KindCheckpoint:
		// Its base is where the last record lies that its snapshot covers.
		m, err := r.Manifest()
		if err != nil {
			break // it was read before
		}
		if covered := v.recent.at(m.Seq); covered != nil {
			again.Base = covered.Pos
		}
	default:
		again.Base = v.st.Base
	}
	return &again
}

// rescue returns the append of those of es that v lacks, to a separate head, or nil.
// If the session is in the trash, the lines are kept until it is restored.
func (s *Session) rescue(v *view, es []core.Entry) (*core.Record, error) {
	missing := missingFrom(v.st, es)
	if len(missing) == 0 || v.st.Seq == 0 {
		s.setPending(nil)
		return nil, nil
	}
	if err := v.st.CheckWritable(); err != nil {
		s.setPending(missing)
		s.ss.cfg.Logger.Error("the log lost lines of a session that accepts none now; to keep them, restore it while this node runs: sessctl rm --undo "+string(s.id),
			"session", s.id, "lines", len(missing), "err", err)
		return nil, nil
	}
	r := &core.Record{
		Kind: core.KindAppend, Head: s.orphanHead(v.st, s.lastWriter()), Writer: s.writer,
		Count: len(missing), Body: core.LinesBody(missing),
		Seq: v.st.Seq + 1, Base: v.st.Base, Epoch: v.st.Epoch,
	}
	r.Chain = v.st.Chain.Next(r)
	return r, nil
}

// setPending sets the lines that the session gets when it accepts writes again.
func (s *Session) setPending(es []core.Entry) {
	s.ss.lost.pending.Add(int64(len(es) - len(s.pendingLines)))
	s.pendingLines = es
	s.hasPending.Store(len(es) > 0)
}

// HasPendingRepair reports whether only this process has lines that the log lost,
// which the session accepts once it is out of the trash. They are lost if the
// session leaves memory.
func (s *Session) HasPendingRepair() bool { return s.hasPending.Load() }

// missingFrom returns those of es that st lacks.
func missingFrom(st *core.State, es []core.Entry) []core.Entry {
	var missing []core.Entry
	var nameless map[string]bool // lines of st without an id
	for _, e := range es {
		if e.ID != "" {
			if _, ok := st.Entry(e.ID); !ok {
				missing = append(missing, e)
			}
			continue
		}
		if nameless == nil {
			nameless = map[string]bool{}
			for i := range st.Entries {
				if st.Entries[i].ID == "" {
					nameless[string(st.Entries[i].Line)] = true
				}
			}
		}
		if !nameless[string(e.Line)] {
			missing = append(missing, e)
		}
	}
	return missing
}

// lastWriter returns the writer of the latest lines in memory.
func (s *Session) lastWriter() string {
	for i := len(s.recent.records) - 1; i >= 0; i-- {
		if r := s.recent.records[i]; r.Kind == core.KindAppend {
			return r.Writer
		}
	}
	return s.writer
}

// orphanHead returns the name of a free head for lines that the log lost.
func (s *Session) orphanHead(st *core.State, writer string) string {
	name := "stray-" + writer
	if core.CheckHead(name) != nil {
		name = "stray-" + s.writer
	}
	for n := 2; st.CheckWriter(name, s.writer, false) != nil; n++ {
		name = fmt.Sprintf("stray-%s-%d", s.writer, n)
	}
	return name
}

// RecentRecords returns the session's latest records in memory. Callers must not
// modify them.
func (s *Session) RecentRecords() []*core.Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.recent.records)
}

// Contradicts reports whether the session has another record in memory than the one with
// that seq and chain: one of the two is of a history that the log has lost.
func (s *Session) Contradicts(seq uint64, chain core.Chain) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.recent.at(seq)
	return r != nil && r.Chain != chain
}

// Losses returns what was lost and repaired so far.
func (ss *Sessions) Losses() report.Losses {
	return report.Losses{Rewritten: ss.lost.rewritten.Load(), Rescued: ss.lost.rescued.Load(), Pending: ss.lost.pending.Load(), Backfilled: ss.cfg.Log.Backfilled()}
}

type losses struct {
	rewritten, rescued atomic.Uint64
	pending            atomic.Int64
}

func (l *losses) count(logger *slog.Logger, id core.SessionID, rewritten, rescued int) {
	if rewritten > 0 {
		l.rewritten.Add(uint64(rewritten))
		logger.Error("the log had lost acknowledged records; they were stored again. Check the disks of its servers",
			"session", id, "records", rewritten)
	}
	if rescued > 0 {
		l.rescued.Add(uint64(rescued))
		logger.Error("the log had lost acknowledged records, and another writer has continued; the lines are on a separate head (see: sessctl heads)",
			"session", id, "lines", rescued)
	}
}

// noteOrphans logs that v has orphans.
func (l *losses) noteOrphans(logger *slog.Logger, v *view) {
	if len(v.orphans) > 0 {
		logger.Warn("the log has orphans: records that follow ones that it has lost",
			"session", v.st.ID, "records", len(v.orphans), "first", v.orphans[0].Pos)
	}
}
