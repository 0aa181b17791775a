package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Refresh takes in what others have written to the session meanwhile. A session
// that only reads, or whose entries are all sent, then stands where its head
// does.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return s.refresh(ctx)
}

func (s *Session) refresh(ctx context.Context) error {
	if !s.saved {
		return nil
	}
	var events []Event
	err := s.log.Follow(ctx, s.id, s.seen, false, func(ev Event) error {
		events = append(events, ev)
		return nil
	})
	if errors.Is(err, core.ErrLost) && s.unsent == 0 {
		return s.reload(ctx)
	}
	if err != nil {
		return err
	}
	return s.fold(events...)
}

// reload reads the session anew from a log that does not go on from what s has
// seen.
func (s *Session) reload(ctx context.Context) error {
	l, err := s.log.Load(ctx, s.id)
	if err != nil {
		return err
	}
	return s.take(l)
}

// Follow takes in what is written to the session as it is stored, and calls f
// after each record, until f returns an error, which Follow returns, or ctx
// ends. f may read the session; it may not write to it or refresh it. A session
// that is not in the log gives core.ErrNotFound.
func (s *Session) Follow(ctx context.Context, f func() error) error {
	if !s.Saved() {
		return fmt.Errorf("session %s is in no log: %w", s.id, core.ErrNotFound)
	}
	return s.log.Follow(ctx, s.id, s.Cursor(), true, func(ev Event) error {
		if err := s.lock(ctx); err != nil {
			return err
		}
		defer s.unlock()
		if ev.Cursor.Seq > s.seen.Seq { // a write or a Refresh may have been here before
			if err := s.fold(ev); err != nil {
				return err
			}
		}
		return f()
	})
}

// fold takes in records that follow on what s has seen.
func (s *Session) fold(events ...Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unsent := slices.Clone(s.entries[len(s.entries)-s.unsent:])
	s.entries = s.entries[: len(s.entries)-s.unsent : len(s.entries)-s.unsent]
	known := len(s.entries)
	defer func() {
		// Entries whose answer was lost may be among those that came.
		came := map[string]bool{}
		for _, e := range s.entries[known:] {
			came[e.ID] = true
		}
		unsent = slices.DeleteFunc(unsent, func(e core.Entry) bool { return came[e.ID] })
		if len(unsent) < s.unsent {
			s.unsent, s.tried = len(unsent), 0
		}
		s.entries = append(s.entries, unsent...)
		s.index()
		if s.unsent == 0 && s.err == nil {
			s.leaf = s.stands
		}
	}()
	var last core.Cursor
	defer func() {
		if last != (core.Cursor{}) {
			s.see(last)
		}
	}()
	for _, ev := range events {
		if err := s.foldEvent(ev); err != nil {
			return fmt.Errorf("record %d of session %s: %w", ev.Cursor.Seq, s.id, err)
		}
		last = ev.Cursor
	}
	return nil
}

func (s *Session) foldEvent(ev Event) error {
	switch ev.Kind {
	case core.KindAppend:
		es, err := s.read(ev.Lines)
		if err != nil {
			return err
		}
		for _, e := range es {
			if !s.mine[e.ID] {
				s.byID[e.ID] = len(s.entries)
				s.entries = append(s.entries, e)
			}
		}
		if core.AnyInTree(es) {
			s.moved(ev.Head, s.d.Leaf(es))
		}
	case core.KindAmend, core.KindRedact:
		return s.foldAmend(ev)
	case core.KindHead:
		var m core.Move
		if err := json.Unmarshal(ev.Body, &m); err != nil {
			return fmt.Errorf("%v: %w", err, core.ErrCorrupt)
		}
		s.moved(ev.Head, m.Leaf)
	case core.KindErase:
		return core.ErrDeleted
	}
	return nil
}

func (s *Session) foldAmend(ev Event) error {
	es, err := s.read(ev.Lines)
	if err != nil {
		return err
	}
	s.entries = slices.Clone(s.entries) // readers hold the old ones
	for _, e := range es {
		if i := slices.IndexFunc(s.entries, func(old core.Entry) bool { return old.ID == e.ID }); i >= 0 {
			s.entries[i] = e
		}
	}
	return nil
}

// moved notes where a head stands. One that is not there stands where main
// does.
func (s *Session) moved(head string, leaf core.Leaf) {
	if head == s.head {
		s.made = true
	}
	if head == s.head || head == core.MainHead && !s.made {
		s.stands = leaf
	}
}

func (s *Session) read(lines [][]byte) ([]core.Entry, error) {
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := s.d.Entry(bytes.Clone(line))
		if err != nil {
			return nil, fmt.Errorf("%v: %w", err, core.ErrCorrupt)
		}
		es[i] = e
	}
	return es, nil
}
