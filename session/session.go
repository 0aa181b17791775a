package session

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// ErrClosed is returned by writes to a closed Session.
var ErrClosed = errors.New("the session is closed")

// A Session is an agent's session in memory and, unless it was made by InMemory,
// in a log. Its methods are safe for concurrent use; writes happen one at a time,
// in the order of the calls. Callers must not modify entries that methods return.
type Session struct {
	log Log // nil for a session in memory
	o   Options
	d   core.Dialect
	id  core.SessionID
	key string // idempotency key of its creation

	writeLock chan struct{} // a semaphore, held during a write

	mu        sync.RWMutex // guards the fields below; only the holder of writeLock changes them
	header    core.Header
	entries   []core.Entry
	byID      map[string]int
	leaf      core.Leaf
	unsent    int   // number of last entries that the log does not have
	err       error // the last failure to send
	permanent bool  // retrying cannot clear err
	closed    bool

	// The state of the log, as far as it is known.
	saved       bool            // the session is in the log
	uncertain   int             // number of unsent entries whose outcome is unknown
	createdWith int             // number of entries in the create request; -1 before it is sent
	seen        core.Cursor     // the last record in the entries
	upTo        uint64          // its number, or that of a later record of this Session without entries
	ours        map[string]bool // ids of entries that this Session stored after seen
	headState
}

// A headState is the head that a session writes to, as far as it is known.
type headState struct {
	head       string      // its name
	exists     bool        // the head is in the log
	logLeaf    core.Leaf   // its leaf in the log
	wantWriter string      // the writer's name in a claim request
	writer     string      // the writer that holds our claim; empty for none
	headSeen   core.Cursor // the last record at which a shared writer saw the head
	sentAfter  core.Leaf   // its leaf when entries were last sent

	moving   bool // a move to movingTo has an unknown outcome
	movingTo core.Leaf
}

func newSession(log Log, o Options, d core.Dialect, h core.Header) *Session {
	return &Session{
		log:         log,
		o:           o,
		d:           d,
		id:          core.SessionIDFor(d.Name(), h.ID),
		key:         newKey(),
		writeLock:   make(chan struct{}, 1),
		header:      h,
		byID:        map[string]int{},
		leaf:        core.NoLeaf,
		headState:   headState{head: o.Head, logLeaf: core.NoLeaf, wantWriter: newKey()},
		createdWith: -1,
		ours:        map[string]bool{},
	}
}

// Create makes a session of an agent that works in cwd. Unless the session is
// lazy, it is in the log when Create returns. Create returns core.ErrExists if
// o.ID is taken; for a lazy session the first write does.
func Create(ctx context.Context, log Log, cwd string, o Options) (*Session, error) {
	s, err := newUnsaved(log, cwd, o)
	if err != nil || s.o.Lazy {
		return s, err
	}
	if s.o.Access == ReadOnly {
		return nil, fmt.Errorf("create session: access is ReadOnly: %w", core.ErrInvalid)
	}
	if err := retry(func() error { return s.Flush(ctx) }); err != nil {
		return nil, err
	}
	return s, nil
}

// tries is how often a request with an unknown outcome is sent.
const tries = 3

// retry calls f again while the outcome of its request is unknown.
func retry(f func() error) error {
	for range tries - 1 {
		if err := f(); !errors.Is(err, core.ErrUncertain) {
			return err
		}
	}
	return f()
}

// InMemory makes a session that is kept in memory only.
func InMemory(cwd string, o Options) (*Session, error) { return newUnsaved(nil, cwd, o) }

// newUnsaved makes a session that is not in the log yet.
func newUnsaved(log Log, cwd string, o Options) (*Session, error) {
	o, d, err := o.filled()
	if err != nil {
		return nil, err
	}
	h, err := optional.NewHeader(d, d.NewHeader(core.HeaderFields{ID: o.newID(), Time: o.stamp(), CWD: directory(cwd), Parent: o.Parent}))
	if err != nil {
		return nil, err
	}
	return newSession(log, o, d, h), nil
}

// Open opens a session in the log. It returns core.ErrNotFound if there is none,
// and core.ErrDeleted if it is in the trash; ReadOnly opens it there, too.
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
	if err := s.reset(l); err != nil {
		return nil, err
	}
	if err := retry(func() error { return s.claim(ctx) }); err != nil {
		return nil, err
	}
	if s.writer == "" {
		return s, nil
	}
	// Read what others wrote between loading and claiming. From the claim on, no
	// other writer moves the head.
	if err := s.Refresh(ctx); err != nil {
		_ = log.Release(context.WithoutCancel(ctx), id, s.writing()) // the first error is returned
		return nil, err
	}
	return s, nil
}

// Ensure opens the session id, or makes it if there is none.
func Ensure(ctx context.Context, log Log, id core.SessionID, cwd string, o Options) (*Session, error) {
	s, err := Open(ctx, log, id, o)
	if !errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) {
		return s, err
	}
	o.ID = string(id)
	return Create(ctx, log, cwd, o)
}

// Continue opens the most recently changed session of the directory cwd and of
// o.Dialect, or makes one. If another writer holds its head, Continue returns a
// *core.FencedError, as Open does.
func Continue(ctx context.Context, log Log, cwd string, o Options) (*Session, error) {
	o, d, err := o.filled()
	if err != nil {
		return nil, err
	}
	found, err := log.Recent(ctx, Query{CWD: directory(cwd), Dialect: d.Name(), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return Create(ctx, log, cwd, o)
	}
	return Open(ctx, log, found[0].ID, o)
}

// directory returns a working directory as agents write theirs, without a slash at
// its end. Directories of other systems stay as they are.
func directory(cwd string) string {
	if path.IsAbs(cwd) {
		return path.Clean(cwd)
	}
	return cwd
}

// reset replaces the state of s by l.
func (s *Session) reset(l Loaded) error {
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
	s.logLeaf, s.exists = l.Heads[core.MainHead], false
	if leaf, ok := l.Heads[s.head]; ok {
		s.logLeaf, s.exists = leaf, true
	}
	s.leaf = s.logLeaf
	s.advance(l.Cursor)
	return nil
}

// advance records that the entries include the record at c.
func (s *Session) advance(c core.Cursor) {
	s.seen, s.upTo, s.headSeen = c, c.Seq, c
	clear(s.ours)
}

// index rebuilds byID.
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
	case s.writeLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) unlock() { <-s.writeLock }
