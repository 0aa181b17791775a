package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// stand finds the head that stands where the agent goes on, which is at want, and
// the cursor at which it stood there: from then on lines can be appended without
// a comparison. A head that stands where this file left it follows the file; so
// it does where that is not known, and nobody else has added to the session.
func (b *Follower) stand(ctx context.Context, f *file, want core.Leaf, sole bool) error {
	p := &f.place
	hs, err := b.cfg.Node.Heads(ctx, string(p.Session))
	if err != nil {
		return err
	}
	base := p.Leaf
	p.Cursor, p.Leaf = core.Cursor{}, want
	own := core.Leaf{}
	best := ""
	for _, h := range hs.Heads {
		if h.Head == p.Head {
			own = h.Leaf
		}
		if h.Leaf != want {
			continue
		}
		if best == "" || h.Head == p.Head {
			best = h.Head // main is the first
		}
	}
	if best != "" {
		p.Head, p.Cursor = best, hs.Cursor
		return nil
	}
	ours := own == base || base.IsDefault() && sole
	if !ours || own.IsDefault() || want.IsDefault() {
		return nil // somebody else went on with it
	}
	writer := b.writer(p.Session, p.Head)
	var info api.Info
	err = b.ask(f, func() (err error) {
		info, err = b.cfg.Node.Move(ctx, string(p.Session), p.Head, api.MoveRequest{Leaf: want, After: hs.Cursor.String()}, writer)
		return err
	})
	switch {
	case err == nil:
	case b.claims.isOver(p.Head, writer, err):
		p.Leaf = base
		return errMoved
	case transient(err), stops(err):
		p.Leaf = base
		return err
	case hasMoved(err):
		p.Leaf = base
		return errMoved
	default:
		return nil
	}
	if h := info.Log.Heads[p.Head]; h != nil && h.Leaf == want {
		p.Cursor = info.Log.Cursor
	}
	return nil
}

// record puts why into the session, in a head record that moves nothing: once,
// also where an answer was lost. That it cannot be recorded for another reason
// than want of a node is only logged.
func (b *Follower) record(ctx context.Context, f *file, why string) error {
	if told, err := b.wasTold(ctx, f, why); told || err != nil {
		return err
	}
	hs, err := b.cfg.Node.Heads(ctx, string(f.place.Session))
	if err != nil {
		return err
	}
	return b.noting(f, hs.Cursor, func() error { return b.put(ctx, f, hs, why) })
}

// noting has tell tell the session something. Where its answer is lost it is
// remembered from where on to look for what was told.
func (b *Follower) noting(f *file, at core.Cursor, tell func() error) error {
	p := &f.place
	p.Noting = cmp.Or(p.Noting, at)
	err := tell()
	if !p.Unheard {
		p.Noting = core.Cursor{}
	}
	return err
}

// wasTold reports whether the session was told why of f, by a request whose answer
// was lost.
func (b *Follower) wasTold(ctx context.Context, f *file, why string) (bool, error) {
	if f.place.Noting == (core.Cursor{}) {
		return false, nil
	}
	return b.isTold(ctx, f.place.Session, f.place.Noting, why)
}

// put is record without a look at what is there. hs are the session's heads.
func (b *Follower) put(ctx context.Context, f *file, hs api.Heads, why string) error {
	p := &f.place
	head := cmp.Or(p.Head, core.MainHead)
	at := slices.IndexFunc(hs.Heads, func(h api.HeadInfo) bool { return h.Head == head })
	if at < 0 {
		b.cfg.Logger.Warn("what happened to a file is not in the log: its head is not there", "path", f.path, "head", head, "why", why)
		return nil
	}
	writer := b.writer(p.Session, head)
	var info api.Info
	err := b.ask(f, func() (err error) {
		info, err = b.cfg.Node.Move(ctx, string(p.Session), head, api.MoveRequest{
			Leaf: hs.Heads[at].Leaf, After: hs.Cursor.String(), Note: &api.Notice{By: b.cfg.By, Host: b.cfg.Host, Why: worded(why)},
		}, writer)
		return err
	})
	switch {
	case err == nil:
		p.Unheard = false // nothing that was sent before goes behind this
	case b.claims.isOver(head, writer, err):
		if err := b.claims.prove(ctx, f); err != nil {
			return err
		}
		return errMoved
	case transient(err), stops(err):
		return err
	case hasMoved(err):
		return errMoved
	default:
		b.cfg.Logger.Warn("what happened to a file is not in the log", "path", f.path, "why", why, "err", err)
		return nil
	}
	if now := info.Log.Heads[head]; p.Cursor != (core.Cursor{}) && now != nil && now.Leaf == p.Leaf {
		p.Cursor = info.Log.Cursor
	}
	return nil
}

// stops reports whether err says that the log takes nothing for the session.
func stops(err error) bool {
	return errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrTooNew) || errors.Is(err, core.ErrCorrupt)
}

// tellParted says that two went on with one session.
func (b *Follower) tellParted(ctx context.Context, f *file) {
	p := &f.place
	who := "somebody else"
	if hs, err := b.cfg.Node.Heads(ctx, string(p.Session)); err == nil && len(hs.Heads) > 0 && hs.Heads[0].Claim != nil {
		who = hs.Heads[0].Claim.Name()
	}
	b.notify(Notice{Kind: Diverged, Path: f.path, Session: p.Session, Head: p.Head, Text: fmt.Sprintf(
		"%s went on with session %s too, so what is written in %s is on head %s from here on and both are kept: go on as before, or end the agent and take theirs with: sessctl resume %s",
		who, p.Session, f.path, p.Head, p.Session)})
}
