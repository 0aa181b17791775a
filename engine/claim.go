package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Claim makes a new writer the holder of a head. It returns the new claim and the
// one that it ended, if any. From then on appends of the former holder fail with a
// *core.FencedError. Without TakeOver, Claim returns that error if the head is held.
func (s *Session) Claim(ctx context.Context, q core.ClaimRequest) (mine core.Claim, former *core.Claim, err error) {
	defer s.ss.cfg.Observer.claimed(&former, &err)
	q.Head = headOr(q.Head)
	writer := q.Writer
	if writer == "" {
		writer = s.ss.cfg.NewID()
	}
	if _, err := core.ParseSessionID(writer); err != nil {
		return mine, nil, fmt.Errorf("the writer's name is like a session's: %w", err)
	}
	body, err := json.Marshal(core.Claim{Agent: q.Agent, Host: q.Host, By: q.By, Since: s.ss.cfg.Now().UTC()})
	if err != nil {
		return mine, nil, err
	}
	if err := core.CheckHead(q.Head); err != nil {
		return mine, nil, err
	}
	err = s.write(ctx, func(st *core.State, _ bool) (*core.Record, error) {
		if err := st.CheckWritable(); err != nil {
			return nil, err
		}
		if err := checkHeadAllowed(st, q.Head); err != nil {
			return nil, err
		}
		holder := holderOf(st, q.Head)
		if holder != nil && holder.Writer == writer {
			return nil, nil // an earlier try was stored
		}
		if holder != nil && (!q.TakeOver || q.From != "" && q.From != holder.Writer) {
			return nil, &core.FencedError{Session: s.id, Head: q.Head, Holder: holder}
		}
		former = holder
		return &core.Record{Kind: core.KindClaim, Head: q.Head, Writer: writer, Epoch: st.Epoch + 1, Body: body}, nil
	}, func(st *core.State) error {
		holder := holderOf(st, q.Head)
		if holder == nil || holder.Writer != writer { // stored, and ended by another before its answer came
			return &core.FencedError{Session: s.id, Head: q.Head, Holder: holder}
		}
		mine = *holder
		return nil
	})
	return mine, former, err
}

// headOr returns head, or main if it is empty.
func headOr(head string) string {
	if head == "" {
		return core.MainHead
	}
	return head
}

func holderOf(st *core.State, head string) *core.Claim {
	if h := st.Heads[head]; h != nil {
		return h.Claim
	}
	return nil
}

// Release ends the claim of writer on head. It returns nil if that has ended
// already.
func (s *Session) Release(ctx context.Context, head, writer string, n core.Notice) error {
	return s.notice(ctx, core.KindRelease, head, writer, n, func(st *core.State) bool {
		holder := holderOf(st, head)
		return holder == nil || holder.Writer != writer
	})
}

// Move moves head to leaf without an entry. It makes a head that does not exist.
// writer is the claim to write with, empty for none. A session that is a single
// chain returns core.ErrInvalid.
func (s *Session) Move(ctx context.Context, head, writer string, leaf core.Leaf) error {
	return s.MoveAfter(ctx, head, writer, leaf, nil)
}

// MoveAfter is Move that returns a *core.ConflictError if the head has moved since
// after, unless that is nil. Moving a head to where it is returns nil.
func (s *Session) MoveAfter(ctx context.Context, head, writer string, leaf core.Leaf, after *core.Cursor) error {
	return s.MoveNoted(ctx, head, writer, core.Move{Leaf: leaf}, after)
}

// MoveNoted is MoveAfter with a note. A note is stored even if the head does not
// move, and in a session that is a single chain.
func (s *Session) MoveNoted(ctx context.Context, head, writer string, m core.Move, after *core.Cursor) error {
	leaf := m.Leaf
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(ctx, func(st *core.State, _ bool) (*core.Record, error) {
		if err := st.CheckWritable(); err != nil {
			return nil, err
		}
		if err := st.CheckWriter(head, writer, writer != ""); err != nil {
			return nil, err
		}
		if id, ok := leaf.ID(); ok {
			if _, ok := st.Entry(id); !ok {
				return nil, fmt.Errorf("entry %.64q of session %s: %w", id, s.id, core.ErrNotFound)
			}
		}
		if err := checkHeadAllowed(st, head); err != nil {
			return nil, err
		}
		stands := st.Heads[head] != nil && st.Heads[head].Leaf == leaf
		if stands && m.Note == nil {
			return nil, nil
		}
		if st.Dialect.Linear() && !stands {
			return nil, chainError(st)
		}
		if after != nil {
			if err := st.CheckUnmoved(head, *after); err != nil {
				return nil, err
			}
		}
		return &core.Record{Kind: core.KindHead, Head: head, Writer: s.writerOr(writer), Body: body}, nil
	}, nil)
}

// Finish marks the graceful end of a run. A later append reopens the session.
func (s *Session) Finish(ctx context.Context, n core.Notice) error {
	return s.notice(ctx, core.KindClose, core.MainHead, s.writer, n, func(st *core.State) bool { return st.Closed != nil })
}

// Delete puts the session in the trash: it is refused every write until
// Undelete.
func (s *Session) Delete(ctx context.Context, n core.Notice) error {
	return s.notice(ctx, core.KindDelete, core.MainHead, s.writer, n, func(st *core.State) bool { return st.Deleted != nil })
}

// Undelete takes the session out of the trash.
func (s *Session) Undelete(ctx context.Context, n core.Notice) error {
	return s.notice(ctx, core.KindUndelete, core.MainHead, s.writer, n, func(st *core.State) bool { return st.Deleted == nil })
}

// notice stores a record of who, when and why, unless done says that the state
// shows it already.
func (s *Session) notice(ctx context.Context, kind core.Kind, head, writer string, n core.Notice, done func(*core.State) bool) error {
	return s.noticeIf(ctx, kind, head, writer, n, done, nil)
}

// noticeIf is notice that stores nothing if may, unless nil, returns an error for
// the state.
func (s *Session) noticeIf(ctx context.Context, kind core.Kind, head, writer string, n core.Notice, done func(*core.State) bool, may func(*core.State) error) error {
	if n.Time.IsZero() {
		n.Time = s.ss.cfg.Now().UTC()
	}
	if n.Host == "" {
		n.Host = s.ss.cfg.Host
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	// Whether it is done already is asked of a fresh state only.
	return s.write(ctx, func(st *core.State, fresh bool) (*core.Record, error) {
		if !fresh {
			return nil, errNeedsFresh
		}
		if done(st) {
			return nil, nil
		}
		if err := mayNotice(st, kind); err != nil {
			return nil, err
		}
		if may != nil {
			if err := may(st); err != nil {
				return nil, err
			}
		}
		return &core.Record{Kind: kind, Head: head, Writer: writer, Body: body}, nil
	}, nil)
}

// mayNotice returns why such a record cannot be stored, or nil. A session in the
// trash can be restored, held, released and erased, and nothing else.
func mayNotice(st *core.State, kind core.Kind) error {
	if kind == core.KindDelete || kind == core.KindErase {
		if err := st.CheckRemovable(); err != nil {
			return err
		}
	}
	err := st.CheckWritable()
	trashed := errors.Is(err, core.ErrDeleted) && st.Erased == nil
	switch kind {
	case core.KindUndelete, core.KindErase, core.KindHold, core.KindUnhold:
		if trashed {
			return nil
		}
	}
	return err
}
