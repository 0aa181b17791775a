package session

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// ForkFrom makes a session of all entries of the one called src, under a new id
// and in the directory cwd (empty for the same), and opens it. Entries keep
// their ids; the header names src as the parent. core.ErrNotFound when there is
// no src.
func ForkFrom(ctx context.Context, log Log, src core.SessionID, cwd string, o Options) (*Session, error) {
	o, _, err := o.filled()
	if err != nil {
		return nil, err
	}
	return forkIn(ctx, log, src, Fork{ID: core.SessionID(o.newID()), Whole: true, CWD: cwd}, o)
}

func forkIn(ctx context.Context, log Log, src core.SessionID, f Fork, o Options) (*Session, error) {
	f.By, f.Key = o.By, newKey()
	var id core.SessionID
	err := insist(func() (err error) {
		id, err = log.Fork(ctx, src, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return Open(ctx, log, id, o)
}

// Fork makes a session of all entries of this one, under a new id and in the
// directory cwd (empty for the same), and opens it, in the same log or in
// memory as this one is. Entries keep their ids.
func (s *Session) Fork(ctx context.Context, cwd string, o Options) (*Session, error) {
	o, err := s.child(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.Saved() {
		return forkIn(ctx, s.log, s.id, Fork{ID: core.SessionID(o.newID()), Whole: true, CWD: cwd}, o)
	}
	es, leaf := s.view()
	return s.copied(ctx, es, leaf, cwd, o)
}

// Branched makes a session of the path from the root to leaf (the default is
// where this one stands) under a new id, and opens it. Entries keep their ids;
// labels of entries on the path are there too. With o.Lazy it is in the log only
// once its agent would keep it. core.ErrNotFound when leaf names an entry that
// is not there.
func (s *Session) Branched(ctx context.Context, leaf core.Leaf, o Options) (*Session, error) {
	o, err := s.child(ctx, o)
	if err != nil {
		return nil, err
	}
	es, at := s.at(leaf)
	path, err := core.CopyPath(s.d, s.Header(), es, at)
	if err != nil {
		return nil, fmt.Errorf("branch of session %s: %w", s.id, err)
	}
	if s.Saved() && (!o.Lazy || s.d.Keeps(path)) {
		return forkIn(ctx, s.log, s.id, Fork{ID: core.SessionID(o.newID()), At: at}, o)
	}
	stands := core.NoLeaf
	if core.AnyInTree(path) {
		stands = s.d.Leaf(path)
	}
	return s.copied(ctx, path, stands, "", o)
}

// child returns o for a session that comes from s, once all of s is where it
// comes from.
func (s *Session) child(ctx context.Context, o Options) (Options, error) {
	o.Dialect = s.d.Name()
	if o.Parent == "" {
		o.Parent = s.Header().ID
	}
	o, _, err := o.filled()
	if err == nil && s.Saved() && len(s.Unsent()) > 0 {
		err = s.Flush(ctx)
	}
	return o, err
}

// copied makes a session of entries that stands at leaf, and saves it where it
// is to be saved.
func (s *Session) copied(ctx context.Context, es []core.Entry, leaf core.Leaf, cwd string, o Options) (*Session, error) {
	if cwd == "" {
		cwd = s.Header().CWD
	}
	c, err := begin(s.log, cwd, o)
	if err != nil {
		return nil, err
	}
	c.grow(es)
	c.stand(leaf)
	c.turn <- struct{}{}
	defer c.unlock()
	if err := c.send(ctx, !o.Lazy); err != nil {
		return nil, err
	}
	return c, nil
}
