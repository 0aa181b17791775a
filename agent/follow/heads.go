package follow

import (
	"context"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A headChoice says which head a file's lines go to.
type headChoice struct {
	head   string // the head that points to the right leaf; empty if none does
	follow bool   // the file's own head may be moved there
}

// chooseHead finds the head that points to want, where the agent continues after
// it has read the file; it prefers the file's own head. If there is none, the
// file's own head may follow the file if it points to where this file left it, at
// base, or if that is unknown and no other writer has added to the session (sole).
func chooseHead(heads []api.HeadInfo, own string, base, want core.Leaf, sole bool) headChoice {
	var at core.Leaf
	best := ""
	for _, h := range heads {
		if h.Head == own {
			at = h.Leaf
		}
		if h.Leaf == want && (best == "" || h.Head == own) {
			best = h.Head // main is the first
		}
	}
	if best != "" {
		return headChoice{head: best}
	}
	untouched := at == base || base.IsDefault() && sole
	return headChoice{follow: untouched && !at.IsDefault() && !want.IsDefault()}
}

// reconcileHead sets the place's head and cursor to the head that points to want;
// from then on lines can be appended without a comparison. It moves the file's own
// head if chooseHead says so. If another writer continued the session, the cursor
// stays zero.
func (fl *Follower) reconcileHead(ctx context.Context, f *file, want core.Leaf, sole bool) error {
	p := &f.place
	hs, err := fl.cfg.Node.Heads(ctx, string(p.Session))
	if err != nil {
		return err
	}
	base := p.Leaf
	p.Cursor, p.Leaf = core.Cursor{}, want
	choice := chooseHead(hs.Heads, p.Head, base, want, sole)
	if choice.head != "" {
		p.Head, p.Cursor = choice.head, hs.Cursor
		return nil
	}
	if !choice.follow {
		return nil
	}
	writer := fl.writer(p.Session, p.Head)
	var info api.Info
	err = fl.request(f, func() (err error) {
		info, err = fl.cfg.Node.Move(ctx, string(p.Session), p.Head, api.MoveRequest{Leaf: want, After: hs.Cursor.String()}, writer)
		return err
	})
	switch {
	case err == nil:
	case fl.claims.isOver(p.Head, writer, err):
		p.Leaf = base
		return errChanged
	case isTransient(err), isStopped(err):
		p.Leaf = base
		return err
	case isMoved(err):
		p.Leaf = base
		return errChanged
	default:
		return nil
	}
	if h := info.Log.Heads[p.Head]; h != nil && h.Leaf == want {
		p.Cursor = info.Log.Cursor
	}
	return nil
}
