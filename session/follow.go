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

// Refresh reads what others have written since. If the session has no unsent
// entries, its leaf is then that of its head.
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

// reload loads the whole session. It is for a log that has lost the record that s
// saw last.
func (s *Session) reload(ctx context.Context) error {
	l, err := s.log.Load(ctx, s.id)
	if err != nil {
		return err
	}
	return s.reset(l)
}

// Follow reads what is written to the session as it is stored, and calls f after
// each record, until f returns an error, which Follow returns, or ctx ends. f may
// read the session, but must not write to it or refresh it. Follow returns
// core.ErrNotFound if the session is not in the log.
func (s *Session) Follow(ctx context.Context, f func() error) error {
	if !s.Saved() {
		return fmt.Errorf("session %s is not in a log: %w", s.id, core.ErrNotFound)
	}
	return s.log.Follow(ctx, s.id, s.Cursor(), true, func(ev Event) error {
		if err := s.lock(ctx); err != nil {
			return err
		}
		defer s.unlock()
		if ev.Cursor.Seq > s.seen.Seq { // a write or a Refresh may have read it already
			if err := s.fold(ev); err != nil {
				return err
			}
		}
		return f()
	})
}

// fold applies records that follow the last one seen.
func (s *Session) fold(events ...Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unsent := slices.Clone(s.entries[len(s.entries)-s.unsent:])
	s.entries = s.entries[: len(s.entries)-s.unsent : len(s.entries)-s.unsent]
	known := len(s.entries)
	defer func() {
		// Entries with an unknown outcome may be among the new ones.
		came := map[string]bool{}
		for _, e := range s.entries[known:] {
			came[e.ID] = true
		}
		unsent = slices.DeleteFunc(unsent, func(e core.Entry) bool { return came[e.ID] })
		if len(unsent) < s.unsent {
			s.unsent, s.uncertain = len(unsent), 0
		}
		s.entries = append(s.entries, unsent...)
		s.index()
		if s.unsent == 0 && s.err == nil {
			s.leaf = s.logLeaf
		}
	}()
	var last core.Cursor
	defer func() {
		if last != (core.Cursor{}) {
			s.advance(last)
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
			if !s.ours[e.ID] {
				s.byID[e.ID] = len(s.entries)
				s.entries = append(s.entries, e)
			}
		}
		if core.AnyInTree(es) {
			s.moveHead(ev.Head, s.d.Leaf(es))
		}
	case core.KindAmend, core.KindRedact:
		return s.foldAmend(ev)
	case core.KindHead:
		var m core.Move
		if err := json.Unmarshal(ev.Body, &m); err != nil {
			return fmt.Errorf("%v: %w", err, core.ErrCorrupt)
		}
		s.moveHead(ev.Head, m.Leaf)
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
	s.entries = slices.Clone(s.entries) // readers share the old slice
	for _, e := range es {
		if i := slices.IndexFunc(s.entries, func(old core.Entry) bool { return old.ID == e.ID }); i >= 0 {
			s.entries[i] = e
		}
	}
	return nil
}

// moveHead records a head's leaf. A head that does not exist has main's leaf.
func (s *Session) moveHead(head string, leaf core.Leaf) {
	if head == s.head {
		s.exists = true
	}
	if head == s.head || head == core.MainHead && !s.exists {
		s.logLeaf = leaf
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
