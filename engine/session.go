package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// A Session is an open session: its state in memory, and the way to write to
// it. Its methods may be called from several goroutines. It holds no claim and
// needs no closing; the goroutine that sends appends ends by itself.
type Session struct {
	ss     *Sessions
	id     core.SessionID
	writer string // of appends that speak from no claim

	writeLock chan struct{} // held by whoever writes or catches up: one record in flight
	mu        sync.RWMutex  // guards what st points to, held for writing in fold alone
	view                    // st may be read under mu, the rest by whoever has the turn
	gen       atomic.Uint64 // how often st was loaded anew
	size      atomic.Int64  // bytes of st, roughly

	// Of the record in flight: its chain, and whether it was met in the log.
	// Guarded by turn.
	sent  core.Chain
	found bool
	// owing are lines that the log lost and that the session takes only once it
	// is out of the trash. Guarded by turn.
	pendingLines []core.Entry
	hasPending   atomic.Bool // there are such lines

	qmu      sync.Mutex // guards what follows, and is held across no wait
	queue    []*request
	serving  bool
	fairness fairness

	barriers rounds // of strict reads
}

// ID is the session's name in the log.
func (s *Session) ID() core.SessionID { return s.id }

// Size is about how many bytes of memory the session takes.
func (s *Session) Size() int64 { return s.size.Load() }

// Refresh brings the session up to the leader's last record. After it returns
// nil, every append that was acknowledged before the call is in the state.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return s.catchUp(ctx)
}

// View calls f with the session's state, which stands still meanwhile. f may
// not keep the state, nor change it; lines it may keep.
func (s *Session) View(f func(*core.State) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return f(s.st)
}

func (s *Session) lock(ctx context.Context) error {
	select {
	case s.writeLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session %s is busy: %w: %w", s.id, ctx.Err(), core.ErrUnavailable)
	}
}

func (s *Session) unlock() { <-s.writeLock }

// fold takes r into the state.
func (s *Session) fold(r *core.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.view.fold(r); err != nil {
		return err
	}
	s.found = s.found || r.Chain == s.sent
	s.size.Add(int64(len(r.Body)) + recordOverhead + int64(r.Count)*entryOverhead)
	return nil
}

// entryOverhead is about what an entry takes in memory besides its line.
const entryOverhead = 300

// sessionOverhead is about what a session takes in memory besides its entries and
// records.
const sessionOverhead = 6 << 10

// measure sets size from the state. A line keeps all the bytes in memory that it
// was read with: a snapshot, or the body of a record. So lines count that others
// took the place of.
func (s *Session) measure() {
	var lines int64
	for i := range s.st.Entries {
		lines += int64(len(s.st.Entries[i].Line))
	}
	read := s.recent.size
	if s.base != nil {
		read += s.base.Size
	}
	for i := range s.st.Snapshot.Parts {
		read += int64(len(s.st.Snapshot.Parts[i].Inline)) + entryOverhead
	}
	s.size.Store(sessionOverhead + max(lines, read) + int64(len(s.st.Entries))*entryOverhead)
}

// catchUp folds what the leader has beyond the state. The turn is held. Where
// the log does not go on from what the state knows, the session is loaded anew.
func (s *Session) catchUp(ctx context.Context) error {
	err := s.readNew(ctx)
	if err != nil || len(s.pendingLines) == 0 || s.st.CheckWritable() != nil {
		return err
	}
	return s.reload(ctx, nil)
}

func (s *Session) readNew(ctx context.Context) error {
	last, err := s.last(ctx)
	switch {
	case errors.Is(err, core.ErrLost):
		return s.reload(ctx, err)
	case err != nil:
		return err
	case last.Pos == s.end.pos && last.Chain == s.end.chain:
		return nil
	case s.isNext(last):
		return s.fold(last)
	case last.Pos > s.end.pos:
		err := s.ss.readAfter(ctx, &s.view, last, s.fold)
		if !errors.Is(err, core.ErrOrphan) {
			return err
		}
	}
	return s.reload(ctx, nil)
}

// follows reports whether r, with its body, is the one record that the state
// lacks: then there is nothing more to read.
func (s *Session) isNext(r *core.Record) bool {
	return r.After == s.end.pos && s.end.chain == s.st.Chain && r.Seq == s.st.Seq+1 && s.st.Chain.Next(r) == r.Chain
}

// lostTries is how often a log must say that it has nothing of a session that
// it had.
const maxLostReads = 5

// last returns the log's last record. An answer that is behind what the log
// still holds was stale: a leader that was cut off gave it. It is asked again.
func (s *Session) last(ctx context.Context) (*core.Record, error) {
	for try := 1; ; try++ {
		last, err := s.ss.cfg.Log.LastLink(ctx, s.id)
		if errors.Is(err, core.ErrNotFound) {
			// A session never becomes empty; a server may fail to read, though.
			if try < maxLostReads && retry.Pause(ctx) == nil {
				continue
			}
			return nil, fmt.Errorf("session %s had record %d, the log has none of it: %w", s.id, s.st.Seq, core.ErrLost)
		}
		if err != nil || last.Pos >= s.end.pos {
			return last, err
		}
		known, err := s.ss.cfg.Log.At(ctx, s.id, s.end.pos)
		if errors.Is(err, core.ErrNotFound) || err == nil && known.Chain != s.end.chain {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		if retry.Pause(ctx) != nil {
			return nil, fmt.Errorf("session %s: the log answers with record %d, it has %d: %w", s.id, last.Seq, known.Seq, core.ErrUnavailable)
		}
	}
}

// reload replaces a state that the log does not bear out. What the log has lost
// of it is put back first. gone is why the log has nothing of the session at
// all, or nil.
func (s *Session) reload(ctx context.Context, gone error) error {
	s.ss.cfg.Logger.Info("the log does not go on from what this node knew of the session; loading it anew",
		"session", s.id, "known", s.st.Cursor())
	v, err := s.reinstate(ctx, gone)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
	s.found = s.found || v.recent.has(s.sent)
	s.gen.Add(1)
	s.measure()
	return nil
}
