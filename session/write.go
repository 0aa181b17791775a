package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// write adds the entries that build returns, sends them and other changes of
// build, and returns the ids. If the log refuses them, write undoes the change; if
// the log fails, the change stays.
func (s *Session) write(ctx context.Context, build func() ([]core.Entry, error)) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	back, pending := s.undoer(), s.err != nil
	es, err := build()
	if err != nil {
		back()
		return nil, err
	}
	s.add(es)
	ids := make([]string, len(es))
	for i := range es {
		ids[i] = es[i].ID
	}
	err = s.send(ctx, false)
	if err != nil && refused(err) && !pending && s.unsent >= len(es) {
		back()
		s.clearErr()
		return nil, err
	}
	return ids, err
}

func (s *Session) writable() error {
	switch {
	case s.closed:
		return fmt.Errorf("session %s: %w", s.id, ErrClosed)
	case s.o.Access == ReadOnly && s.log != nil:
		return fmt.Errorf("session %s is open for reading only: %w", s.id, core.ErrInvalid)
	}
	return nil
}

// undoer returns a function that undoes later changes of the entries.
func (s *Session) undoer() (back func()) {
	n, unsent, leaf := len(s.entries), s.unsent, s.leaf
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.entries) > n {
			s.entries = slices.Clone(s.entries[:n]) // readers share the old slice
			s.index()
		}
		s.unsent, s.leaf = unsent, leaf
	}
}

// add appends entries that the log does not have yet.
func (s *Session) add(es []core.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range es {
		s.byID[e.ID] = len(s.entries)
		s.entries = append(s.entries, e)
		if s.log != nil {
			s.unsent++
		}
	}
	if core.AnyInTree(es) {
		s.leaf = s.d.Leaf(es)
	}
}

// send stores in the log what it lacks of s; with force also a lazy session that
// its agent would not keep. The caller holds writeLock.
func (s *Session) send(ctx context.Context, force bool) error {
	if s.log == nil {
		return nil
	}
	if s.permanent {
		return s.err
	}
	if !s.saved && !force && s.o.Lazy && !s.d.Keeps(s.entries) {
		return nil
	}
	err := s.sendAll(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.permanent = err, isPermanent(err)
	return err
}

// clearErr forgets a failure.
func (s *Session) clearErr() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.permanent = nil, false
}

// refused reports whether the log rejected a request and would reject a retry.
func refused(err error) bool {
	if errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrUnavailable) {
		return false
	}
	_, line := errors.AsType[*core.LineError](err)
	return errors.Is(err, core.ErrInvalid) || errors.Is(err, core.ErrTooLarge) || line && errors.Is(err, core.ErrConflict)
}

// isPermanent reports whether a retry cannot succeed. That includes refused
// entries, because others follow them.
func isPermanent(err error) bool {
	for _, e := range []error{core.ErrFenced, core.ErrConflict, core.ErrExists, core.ErrDeleted, core.ErrTooNew} {
		if errors.Is(err, e) && !errors.Is(err, core.ErrUncertain) {
			return true
		}
	}
	return err != nil && refused(err)
}

func (s *Session) sendAll(ctx context.Context) error {
	if !s.saved {
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	if err := s.claim(ctx); err != nil {
		return err
	}
	if err := s.resolveMove(ctx); err != nil {
		return err
	}
	if err := s.sendEntries(ctx); err != nil {
		return err
	}
	if s.logLeaf == s.leaf {
		return nil
	}
	at, err := s.log.Move(ctx, s.id, s.writing(), s.leaf)
	if err != nil {
		s.moving = errors.Is(err, core.ErrUncertain)
		s.movingTo = s.leaf
		return err
	}
	s.afterChange(ctx, at)
	return nil
}

// resolveMove finds out whether a move with an unknown outcome was stored. A
// shared writer would otherwise take its own move for that of another.
func (s *Session) resolveMove(ctx context.Context) error {
	if !s.moving {
		return nil
	}
	stood, before := s.logLeaf, s.headSeen
	if err := s.refresh(ctx); err != nil {
		return err
	}
	s.moving = false
	if s.o.Access == Shared && s.logLeaf != stood && s.logLeaf != s.movingTo {
		return &core.ConflictError{Session: s.id, Head: s.head, Want: before, Have: s.headSeen, Leaf: s.logLeaf}
	}
	return nil
}

// afterChange records a change that has no entries, and reads up to it: the
// record at the cursor may be another's if ours was stored earlier. If that read
// fails, a later one catches up.
func (s *Session) afterChange(ctx context.Context, at core.Cursor) {
	s.mu.Lock()
	s.logLeaf, s.exists, s.headSeen = s.leaf, true, at
	s.mu.Unlock()
	_ = s.refresh(ctx)
}

// create stores the session as one record. Every try sends the same entries,
// because an earlier one may have been stored; later entries are sent after it.
func (s *Session) create(ctx context.Context) error {
	if s.createdWith < 0 {
		s.createdWith = len(s.entries)
	}
	es := s.entries[:s.createdWith]
	at, err := s.log.Create(ctx, New{
		ID: s.id, Dialect: s.d.Name(), Header: s.header.Line, Lines: lines(es), By: s.o.By, Key: s.key,
	})
	if err != nil {
		if refused(err) {
			s.createdWith = -1
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved, s.exists, s.unsent = true, s.head == core.MainHead, len(s.entries)-s.createdWith
	s.logLeaf = core.NoLeaf
	if core.AnyInTree(es) {
		s.logLeaf = s.d.Leaf(es)
	}
	s.advance(at)
	return nil
}

// claim claims the head, unless s has it or does not need it.
func (s *Session) claim(ctx context.Context) error {
	if s.writer != "" || s.o.Access == Shared || s.o.Access == ReadOnly {
		return nil
	}
	c, err := s.log.Claim(ctx, s.id, core.ClaimRequest{
		Head: s.head, Agent: s.o.Agent, Host: s.o.Host, By: s.o.By, TakeOver: s.o.Access == TakeOver, Writer: s.wantWriter,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writer, s.exists = c.Writer, true
	if c.Seq == s.upTo+1 {
		s.upTo = c.Seq
	}
	return nil
}

// sendEntries stores the unsent entries. Entries with an unknown outcome are sent
// first, in the same request as before, so that the log recognizes them.
func (s *Session) sendEntries(ctx context.Context) error {
	if s.uncertain > 0 {
		before, from := s.headSeen, len(s.entries)-s.unsent
		leads := s.d.Leaf(s.entries[from : from+s.uncertain])
		if err := s.sendSome(ctx, s.uncertain); err != nil {
			return err
		}
		if s.unsent > 0 && s.o.Access == Shared && s.logLeaf != leads {
			return &core.ConflictError{Session: s.id, Head: s.head, Want: before, Have: s.headSeen, Leaf: s.logLeaf}
		}
	}
	if s.unsent == 0 {
		return nil
	}
	return s.sendSome(ctx, s.unsent)
}

// sendSome stores the first n unsent entries.
func (s *Session) sendSome(ctx context.Context, n int) error {
	from := len(s.entries) - s.unsent
	es := s.entries[from : from+n]
	s.sentAfter = s.logLeaf
	rec, err := s.log.Append(ctx, s.id, s.writing(), lines(es))
	s.uncertain = 0
	if err != nil {
		if errors.Is(err, core.ErrUncertain) {
			s.uncertain = n
		}
		return err
	}
	s.mu.Lock()
	for _, e := range es {
		s.ours[e.ID] = true
	}
	s.unsent -= n
	s.logLeaf = core.Leaf{}
	all := rec.Stored == n
	if all {
		s.exists = true
		s.logLeaf = s.leaf
		if core.AnyInTree(es) {
			s.logLeaf = s.d.Leaf(es)
		}
	}
	s.mu.Unlock()
	if all {
		s.afterAppend(rec.Cursor)
		return nil
	}
	// An earlier try was stored. Others may have written since.
	return s.refresh(ctx)
}

// afterAppend records the cursor of an append. If it is the next record, s has
// seen everything before it.
func (s *Session) afterAppend(at core.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headSeen = at
	if at.Seq == s.upTo+1 {
		s.advance(at)
	}
}

func (s *Session) writing() Writing {
	w := Writing{Head: s.head, Writer: s.writer}
	if s.o.Access == Shared {
		w.After = s.headSeen
	}
	return w
}

func lines(es []core.Entry) [][]byte {
	ls := make([][]byte, len(es))
	for i := range es {
		ls[i] = es[i].Line
	}
	return ls
}

// Flush sends what the log does not have, including a lazy session that its agent
// would not keep yet. If it returns nil, the whole session is durable. It does
// nothing for a session in memory.
func (s *Session) Flush(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.send(ctx, true)
}

// Close sends what is unsent, releases the claim and ends writing; reading still
// works. A lazy session that is not kept leaves nothing. Close returns why entries
// are still unsent, if there are any. A second Close does nothing and returns the
// same error.
func (s *Session) Close(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if s.closed || s.log == nil {
		s.markClosed()
		return s.err
	}
	first := s.err
	if s.err != nil {
		_ = s.send(ctx, true) // send sets s.err
	}
	if s.err != nil && first != nil {
		s.mu.Lock()
		s.err = first
		s.mu.Unlock()
	}
	s.markClosed()
	if s.saved {
		if err := s.log.Release(ctx, s.id, Writing{Head: s.head, Writer: s.writer}); err != nil && s.err == nil {
			return err
		}
	}
	return s.err
}

func (s *Session) markClosed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// BranchOff switches to another head and moves it to the session's leaf, with the
// unsent entries. Unless the session is shared, it claims that head. A fenced
// writer keeps its work with it. On error the session does not change.
func (s *Session) BranchOff(ctx context.Context, head string) error {
	if err := core.CheckHead(head); err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.d.Linear() && head != core.MainHead {
		return fmt.Errorf("sessions of %s have no branches: %w", s.d.Name(), core.ErrInvalid)
	}
	back := s.switchHead(head)
	if err := s.send(ctx, false); err != nil {
		w := s.writing()
		back()
		if w.Writer != "" {
			_ = s.log.Release(ctx, s.id, w) // the error that counts is the first
		}
		return err
	}
	return nil
}

// switchHead makes s write to head, and returns a function that undoes it.
func (s *Session) switchHead(head string) (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.headState
	s.headState = headState{head: head, wantWriter: newKey()} // its leaf is unknown, so it will be moved
	failed, permanent := s.err, s.permanent
	s.err, s.permanent = nil, false
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.headState = was
		s.err, s.permanent = failed, permanent
	}
}

// Discard drops the unsent entries and returns them. The session is then in the
// state of the log when it was last read; Refresh updates it. Later writes of a
// fenced writer still fail.
func (s *Session) Discard(ctx context.Context) ([]core.Entry, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.entries) - s.unsent
	gone := slices.Clone(s.entries[n:])
	s.entries = slices.Clone(s.entries[:n])
	s.index()
	s.unsent, s.uncertain, s.leaf = 0, 0, s.logLeaf
	if !s.saved { // an earlier try may have stored the session; this is another one
		s.createdWith, s.key = -1, newKey()
	}
	s.err, s.permanent = nil, false
	return gone, nil
}

// annotate replaces an entry's line by the one that change makes.
func (s *Session) annotate(ctx context.Context, change func(optional.Annotator) (core.Entry, error)) error {
	a, ok := s.d.(optional.Annotator)
	if !ok {
		return fmt.Errorf("amend: %s messages cannot carry it: %w", s.d.Name(), core.ErrInvalid)
	}
	return s.amend(ctx, func() ([]core.Entry, error) {
		e, err := change(a)
		return []core.Entry{e}, err
	})
}

// amend replaces the lines of entries by those that change makes.
func (s *Session) amend(ctx context.Context, change func() ([]core.Entry, error)) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.err != nil { // a line with an unknown outcome must not change
		if err := s.send(ctx, true); err != nil {
			return err
		}
	}
	es, err := change()
	if err != nil {
		return err
	}
	inLog := func(e core.Entry) bool { return s.byID[e.ID] < len(s.entries)-s.unsent }
	if s.log != nil && slices.ContainsFunc(es, inLog) {
		if err := s.send(ctx, false); err != nil {
			return err
		}
		cursor, err := s.log.Amend(ctx, s.id, s.writing(), lines(es))
		if err != nil {
			return err
		}
		s.afterChange(ctx, cursor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.Clone(s.entries) // readers share the old slice
	for _, e := range es {
		if at, ok := s.byID[e.ID]; ok { // it may have been reloaded
			s.entries[at] = e
		}
	}
	return nil
}
