package session

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/tree"
)

// ForkFrom copies all entries of the session src to a new session and opens it.
// cwd is its directory; empty means that of src. Entries keep their ids, and the
// header names src as the parent. ForkFrom returns core.ErrNotFound if src does not
// exist.
func ForkFrom(ctx context.Context, log Log, src core.SessionID, cwd string, o Options) (*Session, error) {
	o, _, err := o.filled()
	if err == nil {
		err = o.Steps.beforeFork(core.Leaf{})
	}
	if err != nil {
		return nil, err
	}
	return forkIn(ctx, log, src, Fork{ID: core.SessionID(o.newID()), Whole: true, CWD: cwd}, o)
}

func forkIn(ctx context.Context, log Log, src core.SessionID, f Fork, o Options) (*Session, error) {
	f.By, f.Key, f.CWD = o.By, newKey(), directory(f.CWD)
	var id core.SessionID
	err := retry(func() (err error) {
		id, err = log.Fork(ctx, src, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return Open(ctx, log, id, o)
}

// Fork copies all entries to a new session in the same log, or in memory, and
// opens it. cwd is its directory; empty means that of s. Entries keep their ids.
func (s *Session) Fork(ctx context.Context, cwd string, o Options) (*Session, error) {
	if err := s.o.Steps.beforeFork(core.Leaf{}); err != nil {
		return nil, err
	}
	o, err := s.child(ctx, o)
	if err != nil {
		return nil, err
	}
	if cwd == "" {
		cwd = s.CWD()
	}
	if s.Saved() {
		return forkIn(ctx, s.log, s.id, Fork{ID: core.SessionID(o.newID()), Whole: true, CWD: cwd}, o)
	}
	es, leaf := s.view()
	return s.copied(ctx, es, leaf, cwd, o)
}

// Branched copies the path from the root to leaf (default: the session's leaf) to
// a new session and opens it. Entries keep their ids; labels of entries on the path
// are copied, too. With o.Lazy the new session is stored once its agent would keep
// it. Branched returns core.ErrNotFound if leaf names an entry that does not exist.
func (s *Session) Branched(ctx context.Context, leaf core.Leaf, o Options) (*Session, error) {
	es, at := s.at(leaf)
	if err := s.o.Steps.beforeFork(at); err != nil {
		return nil, err
	}
	o, err := s.child(ctx, o)
	if err != nil {
		return nil, err
	}
	path, err := tree.CopyPath(s.d, s.Header(), es, at)
	if err == nil {
		err = tree.CheckEnd(s.d, path)
	}
	if err != nil {
		return nil, fmt.Errorf("branch of session %s: %w", s.id, err)
	}
	if s.Saved() && (!o.Lazy || s.d.Keeps(path)) {
		return forkIn(ctx, s.log, s.id, Fork{ID: core.SessionID(o.newID()), At: at, Branched: true, CWD: s.CWD()}, o)
	}
	stands := core.NoLeaf
	if core.AnyInTree(path) {
		stands = s.d.Leaf(path)
	}
	return s.copied(ctx, path, stands, s.CWD(), o)
}

// child returns the options for a session derived from s, after it has stored the
// unsent entries of s.
func (s *Session) child(ctx context.Context, o Options) (Options, error) {
	o.Dialect = s.d.Name()
	if o.Parent == "" && lineage.IsRecording(ctx) {
		o.Parent = s.Header().ID
	}
	o, _, err := o.filled()
	if err == nil && s.Saved() && len(s.Unsent()) > 0 {
		err = s.Flush(ctx)
	}
	return o, err
}

// copied makes a session of entries with the given leaf, and stores it unless it
// is lazy or in memory.
func (s *Session) copied(ctx context.Context, es []core.Entry, leaf core.Leaf, cwd string, o Options) (*Session, error) {
	c, err := newUnsaved(s.log, cwd, o)
	if err != nil {
		return nil, err
	}
	c.add(es)
	c.setLeaf(leaf)
	c.writeLock <- struct{}{}
	defer c.unlock()
	if err := c.send(ctx, !o.Lazy); err != nil {
		return nil, err
	}
	return c, nil
}
