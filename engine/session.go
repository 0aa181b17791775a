package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Session is an open session: its state in memory, and its writer. Its methods may
// be called concurrently. It holds no claim and needs no Close.
type Session struct {
	ss     *Sessions
	id     core.SessionID
	writer string // of appends without a claim

	writeLock chan struct{} // held while writing or catching up: one record in flight
	mu        sync.RWMutex  // guards what st points to; only fold locks it for writing
	view                    // st may be read under mu, the rest under writeLock
	gen       atomic.Uint64 // how often st was loaded again
	size      atomic.Int64  // bytes of st, roughly

	// The chain of the record in flight, and whether it was found in the log. Guarded by
	// writeLock.
	sent  core.Chain
	found bool
	// sentEntries are the entries of the record that build made, nil if they must be read
	// from its body. Guarded by writeLock.
	sentEntries []core.Entry
	// tally counts the entries of st. Guarded by writeLock.
	tally tally
	// pendingLines are lines that the log lost and that the session accepts only once it
	// is out of the trash. Guarded by writeLock.
	pendingLines []core.Entry
	hasPending   atomic.Bool // pendingLines is not empty

	qmu      sync.Mutex // guards the fields below; never held while waiting
	queue    []*request
	serving  bool
	fairness fairness

	barriers rounds // strict reads
}

// ID returns the session's name in the log.
func (s *Session) ID() core.SessionID { return s.id }

// Size returns roughly how many bytes of memory the session takes.
func (s *Session) Size() int64 { return s.size.Load() }

// Refresh brings the session up to the leader's last record. After it returns
// nil, every append that was acknowledged before the call is in the state. It returns
// core.ErrDeleted if the session was erased, as opening it does.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return cmp.Or(s.catchUp(ctx), s.notErased())
}

// RefreshTo brings the session up to at least record seq, at pos, which the caller has
// seen in the log. It reads nothing if a write of this process stored the record, and
// asks the leader only if the replica that answers does not continue the state up to it.
// An erased session is an error as for Refresh.
func (s *Session) RefreshTo(ctx context.Context, seq uint64, pos core.Pos) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return cmp.Or(s.catchUpTo(ctx, seq, pos), s.notErased())
}

// catchUpTo is RefreshTo under the write lock.
func (s *Session) catchUpTo(ctx context.Context, seq uint64, pos core.Pos) error {
	if s.st.Seq >= seq {
		return nil
	}
	if len(s.pendingLines) == 0 {
		for r, err := range s.ss.cfg.Log.Read(ctx, s.id, s.end.pos, pos) {
			if err != nil || s.fold(r) != nil {
				break // the leader tells why
			}
		}
	}
	if s.st.Seq >= seq {
		return nil
	}
	return s.catchUp(ctx)
}

// notErased returns core.ErrDeleted if the session was erased, by whichever node. The
// state of such a session has no entries: it must not be read as an empty session.
func (s *Session) notErased() error {
	if s.st.Erased == nil {
		return nil
	}
	return s.st.CheckWritable()
}

// View calls f with the session's state, which does not change meanwhile. f must not
// keep or modify the state; it may keep lines.
func (s *Session) View(f func(*core.State) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return f(s.st)
}

// Cursor returns the position of the session in memory.
func (s *Session) Cursor() core.Cursor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.st.Cursor()
}

// Erased reports whether the session was erased, as far as its state knows.
func (s *Session) Erased() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.st.Erased != nil
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

// fold applies r to the state.
func (s *Session) fold(r *core.Record) error { return s.foldRead(r, nil) }

// foldRead is fold for an append whose entries are es, or nil if they must be read.
func (s *Session) foldRead(r *core.Record, es []core.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.view.foldRead(r, es); err != nil {
		return err
	}
	s.found = s.found || r.Chain == s.sent
	s.size.Add(int64(len(r.Body)) + recordOverhead + int64(r.Count)*entryOverhead)
	return nil
}

// entryOverhead is roughly what an entry takes in memory besides its line.
const entryOverhead = 300

// sessionOverhead is roughly what a session takes in memory besides its entries and
// records.
const sessionOverhead = 6 << 10

// measure sets size from the state. A line retains the snapshot or body that it was
// read with, so replaced lines count, too.
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

// catchUp folds the leader's records after the state. The caller holds the write
// lock. If the log does not continue from the state, the session is loaded again.
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

// isNext reports whether r, with its body, is the only record that the state lacks.
func (s *Session) isNext(r *core.Record) bool {
	return r.After == s.end.pos && s.end.chain == s.st.Chain && r.Seq == s.st.Seq+1 && s.st.Chain.Next(r) == r.Chain
}

// maxLostReads is how often a log must answer that a known session does not exist.
const maxLostReads = 5

// last returns the log's last record. It retries an answer that is older than what
// the log still has: a leader that was cut off gave it.
func (s *Session) last(ctx context.Context) (*core.Record, error) {
	for try := 1; ; try++ {
		last, err := s.ss.cfg.Log.LastLink(ctx, s.id)
		if errors.Is(err, core.ErrNotFound) {
			// A session never becomes empty, but a server may fail to read.
			if try < maxLostReads && retry.Pause(ctx) == nil {
				continue
			}
			return nil, fmt.Errorf("session %s had record %d, and the log has none of its records: %w", s.id, s.st.Seq, core.ErrLost)
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
			return nil, fmt.Errorf("session %s: the log answers with record %d, but it has record %d: %w", s.id, last.Seq, known.Seq, core.ErrUnavailable)
		}
	}
}

// reload replaces a state that the log does not confirm, after it has stored what
// the log lost. gone is why the log has nothing of the session, or nil.
func (s *Session) reload(ctx context.Context, gone error) error {
	s.ss.cfg.Logger.Info("the log does not continue from the session in memory; loading it again",
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
