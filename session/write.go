package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// write takes in the entries that build makes, and what else it changed, and
// sends them. It returns their ids. What the log refuses is taken out again;
// where the log fails it stays.
func (s *Session) write(ctx context.Context, build func() ([]core.Entry, error)) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	back, pending := s.mark(), s.err != nil
	es, err := build()
	if err != nil {
		back()
		return nil, err
	}
	s.grow(es)
	ids := make([]string, len(es))
	for i := range es {
		ids[i] = es[i].ID
	}
	err = s.send(ctx, false)
	if err != nil && refused(err) && !pending && s.unsent >= len(es) {
		back()
		s.forget()
		return nil, err
	}
	return ids, err
}

func (s *Session) writable() error {
	switch {
	case s.closed:
		return fmt.Errorf("session %s: %w", s.id, ErrClosed)
	case s.o.Access == ReadOnly && s.log != nil:
		return fmt.Errorf("session %s was opened to be read: %w", s.id, core.ErrInvalid)
	}
	return nil
}

// mark returns what undoes a change of the entries.
func (s *Session) mark() (back func()) {
	n, unsent, leaf := len(s.entries), s.unsent, s.leaf
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.entries) > n {
			s.entries = slices.Clone(s.entries[:n]) // readers hold the old ones
			s.index()
		}
		s.unsent, s.leaf = unsent, leaf
	}
}

// grow appends entries that the log does not have yet.
func (s *Session) grow(es []core.Entry) {
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

// send makes the log have what s has. With force a lazy session goes in too.
// The turn is held.
func (s *Session) send(ctx context.Context, force bool) error {
	if s.log == nil {
		return nil
	}
	if s.lasting {
		return s.err
	}
	if !s.saved && !force && s.o.Lazy && !s.d.Keeps(s.entries) {
		return nil
	}
	err := s.sendAll(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.lasting = err, lasting(err)
	return err
}

// forget takes back an error that changed nothing.
func (s *Session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.lasting = nil, false
}

// refused reports whether the log did not take what it was given, and would
// not another time.
func refused(err error) bool {
	if errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrUnavailable) {
		return false
	}
	_, line := errors.AsType[*core.LineError](err)
	return errors.Is(err, core.ErrInvalid) || errors.Is(err, core.ErrTooLarge) || line && errors.Is(err, core.ErrConflict)
}

// lasting reports whether trying again is in vain. What is refused counts: the
// entries it is about stand before others.
func lasting(err error) bool {
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
	if err := s.hold(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.sendEntries(ctx); err != nil {
		return err
	}
	if s.stands == s.leaf {
		return nil
	}
	at, err := s.log.Move(ctx, s.id, s.writing(), s.leaf)
	if err != nil {
		s.moving = errors.Is(err, core.ErrUncertain)
		s.movingTo = s.leaf
		return err
	}
	s.changed(ctx, at)
	return nil
}

// settle finds out what became of a move whose answer was lost: for a shared
// writer, a head that it moved itself would look like one that another moved.
func (s *Session) settle(ctx context.Context) error {
	if !s.moving {
		return nil
	}
	stood, before := s.stands, s.checked
	if err := s.refresh(ctx); err != nil {
		return err
	}
	s.moving = false
	if s.o.Access == Shared && s.stands != stood && s.stands != s.movingTo {
		return &core.ConflictError{Session: s.id, Head: s.head, Want: before, Have: s.checked, Leaf: s.stands}
	}
	return nil
}

// changed notes that the log has a change of ours that is no entry, and reads
// on to it: the record at the cursor may be another's, where ours was there
// already. What cannot be read now is read later.
func (s *Session) changed(ctx context.Context, at core.Cursor) {
	s.mu.Lock()
	s.stands, s.made, s.checked = s.leaf, true, at
	s.mu.Unlock()
	_ = s.refresh(ctx)
}

// create makes the session in the log, in one record. An earlier try may have
// been stored, so every try is the same; what came since follows.
func (s *Session) create(ctx context.Context) error {
	if s.born < 0 {
		s.born = len(s.entries)
	}
	es := s.entries[:s.born]
	at, err := s.log.Create(ctx, New{
		ID: s.id, Dialect: s.d.Name(), Header: s.header.Line, Lines: lines(es), By: s.o.By, Key: s.key,
	})
	if err != nil {
		if refused(err) {
			s.born = -1
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved, s.made, s.unsent = true, s.head == core.MainHead, len(s.entries)-s.born
	s.stands = core.NoLeaf
	if core.AnyInTree(es) {
		s.stands = s.d.Leaf(es)
	}
	s.see(at)
	return nil
}

// hold claims the head where it is to be claimed and is not yet.
func (s *Session) hold(ctx context.Context) error {
	if s.writer != "" || s.o.Access == Shared || s.o.Access == ReadOnly {
		return nil
	}
	c, err := s.log.Claim(ctx, s.id, Claim{
		Head: s.head, Agent: s.o.Agent, Host: s.o.Host, By: s.o.By, TakeOver: s.o.Access == TakeOver, Writer: s.asked,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writer, s.made = c.Writer, true
	if c.Seq == s.upTo+1 {
		s.upTo = c.Seq
	}
	return nil
}

// sendEntries stores what is unsent. Entries that may have been stored already
// go alone and first, just as they went before: then the log knows them again.
func (s *Session) sendEntries(ctx context.Context) error {
	if s.tried > 0 {
		before, from := s.checked, len(s.entries)-s.unsent
		leads := s.d.Leaf(s.entries[from : from+s.tried])
		if err := s.sendSome(ctx, s.tried); err != nil {
			return err
		}
		if s.unsent > 0 && s.o.Access == Shared && s.stands != leads {
			return &core.ConflictError{Session: s.id, Head: s.head, Want: before, Have: s.checked, Leaf: s.stands}
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
	s.stoodAt = s.stands
	rec, err := s.log.Append(ctx, s.id, s.writing(), lines(es))
	s.tried = 0
	if err != nil {
		if errors.Is(err, core.ErrUncertain) {
			s.tried = n
		}
		return err
	}
	s.mu.Lock()
	for _, e := range es {
		s.mine[e.ID] = true
	}
	s.unsent -= n
	s.stands = core.Leaf{}
	all := rec.Stored == n
	if all {
		s.made = true
		s.stands = s.leaf
		if core.AnyInTree(es) {
			s.stands = s.d.Leaf(es)
		}
	}
	s.mu.Unlock()
	if all {
		s.sent(rec.Cursor)
		return nil
	}
	// An earlier try was stored, and its answer lost: somebody may have gone on
	// from there.
	return s.refresh(ctx)
}

// sent notes the place of a record of ours. Where it is the next one, there is
// nothing between that s has not seen.
func (s *Session) sent(at core.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = at
	if at.Seq == s.upTo+1 {
		s.see(at)
	}
}

func (s *Session) writing() Writing {
	w := Writing{Head: s.head, Writer: s.writer}
	if s.o.Access == Shared {
		w.After = s.checked
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

// Flush sends what the log does not have, a lazy session too, whatever its
// agent would do. When it returns nil all of the session is durable; one in
// memory has nothing to send.
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

// Close sends what could not be sent, gives up the claim and ends writing;
// reading goes on. Of a lazy session that is not kept nothing remains. It
// returns why entries are still unsent, if there are any. A second Close does
// nothing and says the same.
func (s *Session) Close(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if s.closed || s.log == nil {
		s.end()
		return s.err
	}
	first := s.err
	if s.err != nil {
		_ = s.send(ctx, true) // it is kept in s.err
	}
	if s.err != nil && first != nil {
		s.mu.Lock()
		s.err = first
		s.mu.Unlock()
	}
	s.end()
	if s.saved {
		if err := s.log.Release(ctx, s.id, Writing{Head: s.head, Writer: s.writer}); err != nil && s.err == nil {
			return err
		}
	}
	return s.err
}

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// BranchOff goes on under another head: it is claimed, unless the session is
// shared, and made to stand where the session stands, with the entries that
// could not be sent. It is how a writer that was fenced keeps its work. On error
// the session is as before.
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
	back := s.rehead(head)
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

// rehead makes head the head that s writes to.
func (s *Session) rehead(head string) (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.place
	s.place = place{head: head, asked: newKey()} // where it stands is not known: it is moved
	failed, forGood := s.err, s.lasting
	s.err, s.lasting = nil, false
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.place = was
		s.err, s.lasting = failed, forGood
	}
}

// Discard gives up the entries that could not be sent and returns them. The
// session is as the log had it when it was last read; Refresh brings it up to
// date. What a fenced writer writes after that fails as before.
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
	s.unsent, s.tried, s.leaf = 0, 0, s.stands
	if !s.saved { // should an earlier try have made it all the same, it is not this one
		s.born, s.key = -1, newKey()
	}
	s.err, s.lasting = nil, false
	return gone, nil
}

// amend gives an entry the line that change makes of it.
func (s *Session) amend(ctx context.Context, change func(core.Annotator) (core.Entry, error)) error {
	a, ok := s.d.(core.Annotator)
	if !ok {
		return fmt.Errorf("messages of %s carry no such notes: %w", s.d.Name(), core.ErrInvalid)
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.err != nil { // a line that may be on its way does not change
		if err := s.send(ctx, true); err != nil {
			return err
		}
	}
	e, err := change(a)
	if err != nil {
		return err
	}
	if s.log != nil && s.byID[e.ID] < len(s.entries)-s.unsent {
		if err := s.send(ctx, false); err != nil {
			return err
		}
		cursor, err := s.log.Amend(ctx, s.id, s.writing(), [][]byte{e.Line})
		if err != nil {
			return err
		}
		s.changed(ctx, cursor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.byID[e.ID]; ok { // it may have been loaded anew meanwhile
		s.entries = slices.Clone(s.entries) // readers hold the old ones
		s.entries[at] = e
	}
	return nil
}
