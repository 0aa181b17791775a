package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

// maxChanges is how many changes an error names at most, and maxChanged how many
// entries of each.
const (
	maxChanges = 8
	maxChanged = 8
)

const (
	// explainTime bounds how long it is found out what came in between.
	explainTimeout = 3 * time.Second
	// window is how far back in the stream it is looked at first, and windowGrows
	// by how much further when that was not far enough.
	firstWindow  = 256
	windowFactor = 16
)

// withChanges adds to err a's lines, and what happened since a's writer last saw the
// head.
func (s *Session) withChanges(ctx context.Context, a Append, err error) error {
	fenced, isFenced := errors.AsType[*core.FencedError](err)
	moved, isMoved := errors.AsType[*core.ConflictError](err)
	var seen uint64
	switch {
	case a.After != nil:
		seen = a.After.Seq
	case isFenced && fenced.Holder != nil:
		seen = fenced.Holder.Seq - 1
	}
	back := core.RejectedAppend{Lines: a.Lines}
	if seen > 0 {
		back.Since, back.More = s.since(ctx, a.Head, seen)
	}
	if isFenced {
		fenced.RejectedAppend = back
	}
	if isMoved {
		moved.RejectedAppend = back
		if a.After != nil {
			moved.Want = *a.After // a rebase saw it later
		}
	}
	return err
}

// since returns the first changes of head after record seq, and how many records
// follow those. It returns nothing if they cannot be read.
func (s *Session) since(ctx context.Context, head string, seq uint64) (found []core.Change, more int) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var last uint64
	var end core.Pos
	var claims []*core.Claim
	_ = s.View(func(st *core.State) error {
		last, end = st.Seq, st.Pos
		for _, h := range st.Heads {
			if h.Claim != nil {
				claims = append(claims, h.Claim)
			}
		}
		return nil
	})
	for back := core.Pos(firstWindow); ; back *= windowFactor {
		from := end - min(back, end)
		found, more = nil, 0
		first := true
		for r, err := range s.ss.cfg.Log.Read(ctx, s.id, from, end) {
			if err != nil {
				return nil, 0
			}
			if first && r.Seq > seq+1 && from > 0 {
				break // further back
			}
			first = false
			if len(found) == maxChanges {
				return found, int(last - r.Seq + 1)
			}
			if r.Seq > seq && r.Head == head {
				found = s.withChange(found, r, &claims)
			}
		}
		if !first || from == 0 {
			return found, more
		}
	}
}

// withChange appends what r says about its head.
func (s *Session) withChange(found []core.Change, r *core.Record, claims *[]*core.Claim) []core.Change {
	c := core.Change{Cursor: core.CursorOf(r.Seq, r.Chain), Kind: r.Kind, Writer: r.Writer, Time: r.Time, Count: r.Count}
	switch r.Kind {
	case core.KindAppend:
		es, err := core.BodyEntries(s.dialect(), r.Body)
		if err != nil {
			return found
		}
		for i := range es[:min(len(es), maxChanged)] {
			if n := len(es[i].ID); n > 0 && n <= core.MaxEntryID {
				c.Entries = append(c.Entries, es[i].ID)
			}
		}
	case core.KindClaim:
		claim := core.Claim{}
		_ = json.Unmarshal(r.Body, &claim) // who it is, as far as it says
		claim.Writer, claim.Epoch, claim.Seq = r.Writer, r.Epoch, r.Seq
		*claims = append(*claims, &claim)
	case core.KindHead, core.KindRelease:
	default:
		return found
	}
	for _, claim := range *claims {
		if claim.Writer == r.Writer {
			c.Who = claim
		}
	}
	return append(found, c)
}

// leafLastSeen returns where a's head was when its writer last saw it: at a.After,
// or when the writer's claim ended, or when the claim began that fences it. why is
// that error.
func (s *Session) leafLastSeen(ctx context.Context, a Append, why error) (core.Leaf, error) {
	var holder *core.Claim
	if e, ok := errors.AsType[*core.FencedError](why); ok {
		holder = e.Holder
	}
	var seenLeaf core.Leaf
	found := false
	err := s.replay(ctx, func(st *core.State) error {
		switch {
		case a.After != nil:
			if st.Cursor() == *a.After {
				seenLeaf, found = st.Leaf(a.Head), true
			}
		case a.Writer != "":
			if c := holderOf(st, a.Head); c != nil && c.Writer == a.Writer {
				seenLeaf, found = st.Leaf(a.Head), true
			}
		case holder != nil && st.Seq < holder.Seq:
			seenLeaf, found = st.Leaf(a.Head), true
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("where head %q of session %s seenLeaf is not in the log any more: %w", a.Head, s.id, core.ErrLost)
	}
	return seenLeaf, err
}

// replay calls see with the session's state after each record, from the oldest
// usable base, until see returns an error.
func (s *Session) replay(ctx context.Context, see func(*core.State) error) error {
	log := s.ss.cfg.Log
	last, err := log.LastLink(ctx, s.id)
	if err != nil {
		return err
	}
	for base, err := range log.Read(ctx, s.id, 0, last.Pos) {
		if err != nil {
			return err
		}
		if base.Kind != core.KindOpen && base.Kind != core.KindCheckpoint {
			continue
		}
		v, err := s.ss.loadBase(ctx, s.id, base)
		if err != nil {
			return err
		}
		if err := see(v.st); err != nil {
			return err
		}
		return s.ss.readAfter(ctx, &v, last, func(r *core.Record) error {
			if err := v.read(r); err != nil {
				return err
			}
			return see(v.st)
		})
	}
	return fmt.Errorf("session %s has no base: %w", s.id, core.ErrCorrupt)
}
