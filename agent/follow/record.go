package follow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// record stores why in the session, in a head record that moves nothing: once,
// even if an answer is lost. If the node rejects it, that is only logged.
func (fl *Follower) record(ctx context.Context, f *file, why string) error {
	if recorded, err := fl.wasRecorded(ctx, f, why); recorded || err != nil {
		return err
	}
	hs, err := fl.cfg.Node.Heads(ctx, string(f.place.Session))
	if err != nil {
		return err
	}
	return fl.noting(f, hs.Cursor, func() error { return fl.putNote(ctx, f, hs, why) })
}

// noting calls send, which stores a note in the session. If the answer is lost,
// the place keeps the cursor from which to search for the note.
func (fl *Follower) noting(f *file, at core.Cursor, send func() error) error {
	p := &f.place
	p.Noting = cmp.Or(p.Noting, at)
	err := send()
	if !p.Unacked {
		p.Noting = core.Cursor{}
	}
	return err
}

// wasRecorded reports whether why was stored by a request whose answer was lost.
func (fl *Follower) wasRecorded(ctx context.Context, f *file, why string) (bool, error) {
	if f.place.Noting == (core.Cursor{}) {
		return false, nil
	}
	return fl.hasNote(ctx, f.place.Session, f.place.Noting, why)
}

// hasNote reports whether the session has a note with that text after a cursor.
func (fl *Follower) hasNote(ctx context.Context, id core.SessionID, after core.Cursor, why string) (found bool, err error) {
	why = noteText(why)
	err = fl.cfg.Node.Follow(ctx, string(id), after, false, func(ev api.Event) error {
		var m core.Move
		if ev.Kind == core.KindHead && json.Unmarshal(ev.Body, &m) == nil {
			found = found || m.Note != nil && m.Note.Why == why
		}
		return nil
	})
	if errors.Is(err, core.ErrLost) { // the records are unavailable: rather twice than never
		return false, nil
	}
	return found, err
}

// putNote is record without a search for the note. hs are the session's heads.
func (fl *Follower) putNote(ctx context.Context, f *file, hs api.Heads, why string) error {
	p := &f.place
	head := cmp.Or(p.Head, core.MainHead)
	at := slices.IndexFunc(hs.Heads, func(h api.HeadInfo) bool { return h.Head == head })
	if at < 0 {
		fl.cfg.Logger.Warn("a note about a file is not in the log: its head does not exist", "path", f.path, "head", head, "why", why)
		return nil
	}
	writer := fl.writer(p.Session, head)
	var info api.Info
	err := fl.request(f, func() (err error) {
		info, err = fl.cfg.Node.Move(ctx, string(p.Session), head, api.MoveRequest{
			Leaf: hs.Heads[at].Leaf, After: hs.Cursor.String(), Note: &api.Notice{By: fl.cfg.By, Host: fl.cfg.Host, Why: noteText(why)},
		}, writer)
		return err
	})
	switch {
	case err == nil:
		p.Unacked = false // earlier requests cannot be stored after this record
	case fl.claims.isOver(head, writer, err):
		if err := fl.claims.verify(ctx, f); err != nil {
			return err
		}
		return errChanged
	case isTransient(err), isStopped(err):
		return err
	case isMoved(err):
		return errChanged
	default:
		fl.cfg.Logger.Warn("a note about a file is not in the log", "path", f.path, "why", why, "err", err)
		return nil
	}
	if now := info.Log.Heads[head]; p.Cursor != (core.Cursor{}) && now != nil && now.Leaf == p.Leaf {
		p.Cursor = info.Log.Cursor
	}
	return nil
}
