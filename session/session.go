package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// ErrClosed is what writing to a closed Session gives.
var ErrClosed = errors.New("the session is closed")

// A Session is an agent's session in memory, and where it is kept. Its methods
// may be called from several goroutines; writes happen one at a time, in the
// order in which they were called. Entries that methods return share the
// Session's memory and may not be changed.
type Session struct {
	log Log // nil for one that is in memory alone
	o   Options
	d   core.Dialect
	id  core.SessionID
	key string // of the request that makes it

	turn chan struct{} // held by whoever writes

	mu      sync.RWMutex // guards what follows; only who holds the turn changes it
	header  core.Header
	entries []core.Entry
	byID    map[string]int
	leaf    core.Leaf
	unsent  int   // how many of the last entries the log does not have
	err     error // why, where it is for good or until the next try
	lasting bool  // err is for good
	closed  bool

	// What is known of the log.
	saved bool            // the session is in it
	tried int             // of the unsent entries, how many may be in it all the same
	born  int             // entries that it was to be made with, -1 before
	seen  core.Cursor     // all up to there is in the entries
	upTo  uint64          // likewise, records of ours without entries included
	mine  map[string]bool // entries of this writer behind seen
	place
}

// A place is a head, and a session's hold on it.
type place struct {
	head    string      // the head written to
	made    bool        // it is in the log
	stands  core.Leaf   // where it stands there
	asked   string      // what the writer of a claim is to be called
	writer  string      // of the claim, empty for none
	checked core.Cursor // where a shared writer saw the head last
	stoodAt core.Leaf   // where it stood when entries were last sent

	moving   bool // it may have been moved to movingTo
	movingTo core.Leaf
}

func newSession(log Log, o Options, d core.Dialect, h core.Header) *Session {
	return &Session{
		log:    log,
		o:      o,
		d:      d,
		id:     core.SessionIDFor(d.Name(), h.ID),
		key:    newKey(),
		turn:   make(chan struct{}, 1),
		header: h,
		byID:   map[string]int{},
		leaf:   core.NoLeaf,
		place:  place{head: o.Head, stands: core.NoLeaf, asked: newKey()},
		born:   -1,
		mine:   map[string]bool{},
	}
}

// Create makes a session of an agent that works in cwd. Unless it is lazy it is
// in the log when Create returns. core.ErrExists when o.ID is taken; a lazy
// session learns that when it is first written.
func Create(ctx context.Context, log Log, cwd string, o Options) (*Session, error) {
	s, err := begin(log, cwd, o)
	if err != nil || s.o.Lazy {
		return s, err
	}
	if s.o.Access == ReadOnly {
		return nil, fmt.Errorf("a new session that may not be written: %w", core.ErrInvalid)
	}
	if err := insist(func() error { return s.Flush(ctx) }); err != nil {
		return nil, err
	}
	return s, nil
}

// tries is how often a request whose answer was lost is sent.
const tries = 3

// insist calls f again while it cannot tell what became of its request.
func insist(f func() error) error {
	for range tries - 1 {
		if err := f(); !errors.Is(err, core.ErrUncertain) {
			return err
		}
	}
	return f()
}

// InMemory makes a session that is never written anywhere.
func InMemory(cwd string, o Options) (*Session, error) { return begin(nil, cwd, o) }

// begin makes a session that is in no log yet.
func begin(log Log, cwd string, o Options) (*Session, error) {
	o, d, err := o.filled()
	if err != nil {
		return nil, err
	}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: o.newID(), Time: o.stamp(), CWD: cwd, Parent: o.Parent}))
	if err != nil {
		return nil, err
	}
	return newSession(log, o, d, h), nil
}

// Open opens a session that is in the log. core.ErrNotFound when there is none;
// core.ErrDeleted when it is in the trash, which can be read with ReadOnly.
func Open(ctx context.Context, log Log, id core.SessionID, o Options) (*Session, error) {
	l, err := log.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	if o.Access != ReadOnly {
		if err := l.CheckWritable(id); err != nil {
			return nil, err
		}
	}
	o.Dialect, o.ID = l.Dialect, ""
	o, d, err := o.filled()
	if err != nil {
		return nil, err
	}
	h, err := d.Header(l.Header)
	if err != nil {
		return nil, fmt.Errorf("header of session %s: %w", id, err)
	}
	s := newSession(log, o, d, h)
	s.id, s.saved = id, true
	if err := s.take(l); err != nil {
		return nil, err
	}
	if err := insist(func() error { return s.hold(ctx) }); err != nil {
		return nil, err
	}
	if s.writer == "" {
		return s, nil
	}
	// What came between loading and claiming is read now, and then the head is
	// this session's alone.
	if err := s.Refresh(ctx); err != nil {
		_ = log.Release(context.WithoutCancel(ctx), id, s.writing()) // the error that counts is the first
		return nil, err
	}
	return s, nil
}

// Ensure opens the session called id, or makes it under that id where there is
// none.
func Ensure(ctx context.Context, log Log, id core.SessionID, cwd string, o Options) (*Session, error) {
	s, err := Open(ctx, log, id, o)
	if !errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) {
		return s, err
	}
	o.ID = string(id)
	return Create(ctx, log, cwd, o)
}

// Continue opens the session of the directory cwd that was changed last, or
// makes one there. Only sessions of o.Dialect count. Where another holds that
// session's head it is a *core.FencedError, as for Open.
func Continue(ctx context.Context, log Log, cwd string, o Options) (*Session, error) {
	o, d, err := o.filled()
	if err != nil {
		return nil, err
	}
	found, err := log.Recent(ctx, Query{CWD: cwd, Dialect: d.Name(), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return Create(ctx, log, cwd, o)
	}
	return Open(ctx, log, found[0].ID, o)
}

// take makes l what s knows of the log.
func (s *Session) take(l Loaded) error {
	es := make([]core.Entry, len(l.Lines))
	for i, line := range l.Lines {
		e, err := s.d.Entry(line)
		if err != nil {
			return fmt.Errorf("line %d of session %s: %v: %w", i+1, s.id, err, core.ErrCorrupt)
		}
		es[i] = e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = es
	s.index()
	s.stands, s.made = l.Heads[core.MainHead], false
	if leaf, ok := l.Heads[s.head]; ok {
		s.stands, s.made = leaf, true
	}
	s.leaf = s.stands
	s.see(l.Cursor)
	return nil
}

// see notes that all up to c is in the entries, and what a shared writer has
// seen of the head.
func (s *Session) see(c core.Cursor) {
	s.seen, s.upTo, s.checked = c, c.Seq, c
	clear(s.mine)
}

// index makes byID anew.
func (s *Session) index() {
	s.byID = make(map[string]int, len(s.entries))
	for i := range s.entries {
		if id := s.entries[i].ID; id != "" {
			s.byID[id] = i
		}
	}
}

func (s *Session) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) unlock() { <-s.turn }
