package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// EraseUnread is Session.Erase for a session that cannot be opened, because it is
// damaged or of another version. It reads only the last record and, to find a legal
// hold, the kinds of the others. It returns core.ErrHeld if one of them, or a
// checkpoint's manifest, says so, and nil if the session was erased before.
func (ss *Sessions) EraseUnread(ctx context.Context, id core.SessionID, n core.Notice) error {
	if n.Time.IsZero() {
		n.Time = ss.cfg.Now().UTC()
	}
	if n.Host == "" {
		n.Host = ss.cfg.Host
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.Timeout)
	defer cancel()
	writer := ss.cfg.NewID()
	for {
		last, err := ss.lastOf(ctx, id)
		if err != nil || last.Kind == core.KindErase {
			return err
		}
		if err := heldUnread(ctx, ss.cfg.Log, id, last); err != nil {
			return err
		}
		r := &core.Record{
			Kind: core.KindErase, Seq: last.Seq + 1, Base: last.Base,
			Head: core.MainHead, Writer: writer, Epoch: last.Epoch, Body: body,
		}
		if last.Kind == core.KindOpen || last.Kind == core.KindCheckpoint {
			r.Base = last.Pos
		}
		r.Chain = last.Chain.Next(r)
		_, err = ss.cfg.Log.Append(storage.WithReserve(ctx), id, last.Pos, r)
		if err == nil {
			return nil
		}
		if !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrUncertain) || retry.Pause(ctx) != nil {
			return fmt.Errorf("erase session %s: %w", id, err)
		}
	}
}

// heldUnread returns core.ErrHeld if the readable records up to last say that the
// session is under a legal hold.
func heldUnread(ctx context.Context, l Log, id core.SessionID, last *core.Record) error {
	var h holding
	for at := core.Pos(0); at < last.Pos; {
		before := at
		for z, err := range l.Scan(ctx, id, at, last.Pos) {
			if bad, ok := errors.AsType[*storage.RecordError](err); ok && bad.Pos > at {
				at = bad.Pos // unreadable; read the records after it
				break
			}
			if err != nil {
				return err
			}
			at = z.Pos
			if err := h.take(ctx, z); err != nil {
				return err
			}
		}
		if at == before {
			return fmt.Errorf("the records of session %s cannot be read: %w", id, core.ErrUnavailable)
		}
	}
	st := core.State{ID: id, LegalHold: h.by}
	return st.CheckRemovable()
}

// holding is the legal hold of a session up to record seq.
type holding struct {
	by  *core.Notice
	seq uint64
}

// take takes in the next record. One that cannot be read changes nothing.
func (h *holding) take(ctx context.Context, z *storage.Lazy) error {
	if z.Kind != core.KindHold && z.Kind != core.KindUnhold && z.Kind != core.KindCheckpoint {
		return nil
	}
	r, err := z.Whole(ctx)
	if errors.Is(err, core.ErrCorrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	switch z.Kind {
	case core.KindHold:
		n := &core.Notice{}
		_ = json.Unmarshal(r.Body, n) // what it says, if it is readable
		h.by, h.seq = n, z.Seq
	case core.KindUnhold:
		h.by, h.seq = nil, z.Seq
	default:
		// A checkpoint may cover less than the records before it.
		if m, err := r.Manifest(); err == nil && m.Seq >= h.seq {
			h.by, h.seq = m.LegalHold, m.Seq
		}
	}
	return nil
}
