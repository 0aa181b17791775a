package engine

import (
	"context"

	"github.com/sesslog/sesslog/core"
)

// Orphans returns how many records of the session are in the log and not in its
// state: they follow records that the log has lost.
func (s *Session) Orphans() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.orphans)
}

// RecoverOrphans stores the lines of orphans that the session lacks, for each writer
// on a separate head. After the next checkpoint readers skip the orphans.
func (s *Session) RecoverOrphans(ctx context.Context) error {
	for more := true; more; {
		if err := s.write(ctx, func(st *core.State, fresh bool) (r *core.Record, err error) {
			if !fresh {
				return nil, errNeedsFresh
			}
			if err := st.CheckWritable(); err != nil {
				return nil, err
			}
			r = s.nextRecovery(st)
			more = r != nil
			return r, nil
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// nextRecovery returns the append of the missing lines of the first orphan that has
// any, or nil.
func (s *Session) nextRecovery(st *core.State) *core.Record {
	for _, orphan := range s.orphans {
		if r := s.recovery(st, orphan); r != nil {
			return r
		}
	}
	return nil
}

// recovery returns the append of an orphan's missing lines, or nil.
func (s *Session) recovery(st *core.State, orphan *core.Record) *core.Record {
	if orphan.Kind != core.KindAppend {
		return nil
	}
	es, err := core.BodyEntries(st.Dialect, orphan.Body)
	if err != nil {
		return nil // no writer of this session made it
	}
	missing := missingFrom(st, es)
	if len(missing) == 0 {
		return nil
	}
	s.ss.lost.count(s.ss.cfg.Logger, s.id, 0, len(missing))
	return &core.Record{
		Kind: core.KindAppend, Head: s.orphanHead(st, orphan.Writer), Writer: s.writer,
		Count: len(missing), Body: core.LinesBody(missing),
	}
}

// forgetOrphans removes the orphans up to the position that a checkpoint covers.
func (s *Session) forgetOrphans(at core.Pos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.orphans) > 0 && s.orphans[0].Pos <= at {
		s.orphans = s.orphans[1:]
	}
}
