package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Finder lists the sessions of a log, as the directory of package materializer
// does.
type Finder interface {
	// Find returns sessions that are not in the trash, the most recently changed
	// first.
	Find(ctx context.Context, q session.Query) ([]session.Found, error)
}

// A Local is a session.Log for Go programs that connect to the log themselves
// instead of to a node. It keeps sessions in memory until they are released.
type Local struct {
	sessions  *Sessions
	finder    Finder
	announcer *session.Announcer // nil if there is no Presence

	mu   sync.Mutex
	open map[core.SessionID]*Session
}

var _ session.Log = (*Local)(nil)

// NewLocal returns the log of ss. If finder is nil, Recent returns nothing. If ss
// has a Presence, this process is present there while it has claims.
func NewLocal(ss *Sessions, finder Finder) *Local {
	l := &Local{sessions: ss, finder: finder, open: map[core.SessionID]*Session{}}
	if p := ss.cfg.Presence; p != nil {
		l.announcer = &session.Announcer{Heartbeat: p.Beat, Leave: p.Leave}
	}
	return l
}

// Create implements session.Log.
func (l *Local) Create(ctx context.Context, n session.New) (core.Cursor, error) {
	s, err := l.sessions.CreateStrict(ctx, n)
	if err != nil {
		return core.Cursor{}, err
	}
	l.keep(s)
	return s.Cursor(), nil
}

// Load implements session.Log.
func (l *Local) Load(ctx context.Context, id core.SessionID) (session.Loaded, error) {
	s, err := l.fresh(ctx, id)
	if err != nil {
		return session.Loaded{}, err
	}
	var out session.Loaded
	var es []core.Entry
	_ = s.View(func(st *core.State) error {
		out.Dialect, out.Header, out.Cursor = st.Dialect.Name(), st.Header.Line, st.Cursor()
		out.Covered = st.Checkpointed
		out.Heads = make(map[string]core.Leaf, len(st.Heads))
		out.Claims = map[string]core.Claim{}
		out.Deleted = st.Deleted
		for name, h := range st.Heads {
			out.Heads[name] = h.Leaf
			if h.Claim != nil {
				out.Claims[name] = *h.Claim
			}
		}
		es = st.Entries
		return nil
	})
	out.Lines = make([][]byte, len(es))
	for i := range es {
		if out.Lines[i], err = l.sessions.Inline(ctx, es[i].Line); err != nil {
			return session.Loaded{}, fmt.Errorf("entry %.64q: %w", es[i].ID, err)
		}
	}
	return out, nil
}

// Append implements session.Log.
func (l *Local) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Receipt, error) {
	s, err := l.get(ctx, id)
	if err != nil {
		return core.Receipt{}, err
	}
	a := Append{Head: w.Head, Writer: w.Writer, Lines: lines}
	if w.After != (core.Cursor{}) {
		a.After = &w.After
	}
	rec, err := s.Append(ctx, a)
	return core.Receipt{Stored: rec.Stored, Cursor: rec.Cursor}, err
}

// Amend implements session.Log.
func (l *Local) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Cursor, error) {
	s, err := l.get(ctx, id)
	if err != nil {
		return core.Cursor{}, err
	}
	a := Amend{Head: w.Head, Writer: w.Writer}
	a.Lines(lines)
	return s.Amend(ctx, a)
}

// Move implements session.Log.
func (l *Local) Move(ctx context.Context, id core.SessionID, w session.Writing, leaf core.Leaf) (core.Cursor, error) {
	s, err := l.get(ctx, id)
	if err != nil {
		return core.Cursor{}, err
	}
	var after *core.Cursor
	if w.After != (core.Cursor{}) {
		after = &w.After
	}
	err = s.MoveAfter(ctx, w.Head, w.Writer, leaf, after)
	return s.Cursor(), err
}

// Claim implements session.Log.
func (l *Local) Claim(ctx context.Context, id core.SessionID, c core.ClaimRequest) (core.Claim, error) {
	s, err := l.get(ctx, id)
	if err != nil {
		return core.Claim{}, err
	}
	mine, _, err := s.Claim(ctx, core.ClaimRequest(c))
	if err == nil {
		l.announcer.Add(id, headOr(c.Head), mine)
	}
	return mine, err
}

// Release implements session.Log.
func (l *Local) Release(ctx context.Context, id core.SessionID, w session.Writing) error {
	s, err := l.get(ctx, id)
	if err != nil {
		return err
	}
	l.mu.Lock()
	delete(l.open, id)
	l.mu.Unlock()
	if w.Writer == "" {
		return nil
	}
	defer l.announcer.Drop(ctx, w.Writer)
	return s.Release(ctx, w.Head, w.Writer, core.Notice{})
}

// Fork implements session.Log.
func (l *Local) Fork(ctx context.Context, id core.SessionID, f session.Fork) (core.SessionID, error) {
	src, err := l.fresh(ctx, id)
	if err != nil {
		return "", err
	}
	s, err := l.sessions.Fork(ctx, src, f)
	if err != nil {
		return "", err
	}
	return s.ID(), nil
}

// Delete implements session.Log.
func (l *Local) Delete(ctx context.Context, id core.SessionID, n core.Notice) error {
	s, err := l.get(ctx, id)
	if err != nil {
		return err
	}
	return s.Delete(ctx, n)
}

// Recent implements session.Log.
func (l *Local) Recent(ctx context.Context, q session.Query) ([]session.Found, error) {
	if l.finder == nil {
		return nil, nil
	}
	return l.finder.Find(ctx, q)
}

// Follow implements session.Log.
func (l *Local) Follow(ctx context.Context, id core.SessionID, after core.Cursor, wait bool, f func(session.Event) error) error {
	s, err := l.fresh(ctx, id)
	if err != nil {
		return err
	}
	var pos, end core.Pos
	if after != (core.Cursor{}) {
		if pos, err = s.Position(ctx, after); err != nil {
			return err
		}
	}
	_ = s.View(func(st *core.State) error {
		end = st.Pos
		return nil
	})
	log := l.sessions.cfg.Log
	records := ReadTo(ctx, log, id, pos, end)
	if wait {
		records = log.Follow(ctx, id, pos)
	}
	for r, err := range Chained(ctx, log, id, pos, after, records) {
		if err != nil {
			return err
		}
		ev, err := l.event(ctx, r)
		if err != nil {
			return err
		}
		if err := f(ev); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) event(ctx context.Context, r *core.Record) (session.Event, error) {
	ev := session.Event{Cursor: core.CursorOf(r.Seq, r.Chain), Kind: r.Kind, Head: r.Head}
	body := r.Body
	switch r.Kind {
	case core.KindAppend, core.KindAmend:
	case core.KindRedact:
		ev.Body, body, _ = bytes.Cut(body, []byte("\n"))
	case core.KindOpen:
		return ev, nil
	default:
		ev.Body = body
		return ev, nil
	}
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		whole, err := l.sessions.Inline(ctx, line)
		if err != nil {
			return ev, err
		}
		ev.Lines = append(ev.Lines, whole)
	}
	return ev, nil
}

// get returns the session in memory, and opens it if it is not there.
func (l *Local) get(ctx context.Context, id core.SessionID) (*Session, error) {
	l.mu.Lock()
	s := l.open[id]
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := l.sessions.Open(ctx, id)
	if err != nil {
		return nil, missing(id, err)
	}
	return l.keep(s), nil
}

// fresh returns the session in the state of the log's leader.
func (l *Local) fresh(ctx context.Context, id core.SessionID) (*Session, error) {
	l.mu.Lock()
	s := l.open[id]
	l.mu.Unlock()
	if s != nil {
		return s, s.Refresh(ctx)
	}
	return l.get(ctx, id)
}

// keep adds s to the sessions in memory, unless another with its id is there, and
// returns that one.
func (l *Local) keep(s *Session) *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.open[s.id]; old != nil {
		return old
	}
	l.open[s.id] = s
	return s
}

// missing returns an error that names the missing session.
func missing(id core.SessionID, err error) error {
	if errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrCorrupt) {
		return fmt.Errorf("no session %s: %w", id, core.ErrNotFound)
	}
	return err
}
