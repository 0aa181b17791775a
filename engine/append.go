package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/session"
)

// Append asks for lines to be stored on a head. It becomes one or more core.Proposal,
// whose lines are read already.
type Append struct {
	Head   string // default core.MainHead
	Writer string // of the claim to write with; empty for none
	Loose  bool   // see core.Proposal
	After  *core.Cursor
	Exact  bool // see core.Proposal
	Lines  [][]byte
	// ID returns the id of line i if that has none. The default makes new ids in the
	// dialect's format. A request that may be repeated must return the same ids.
	ID func(i int) string
	// LongID returns an id of line i that no other line can have. It is used instead of
	// the shorter one of ID as DerivedID says. Optional.
	LongID func(i int) string
	// Time is the time of lines without one; default now.
	Time string
	// OnConflict says what happens if another writer was first. Branch is the name of
	// the head that session.Branch makes; the default is derived from the head and the
	// ids of the lines, the same on every attempt.
	OnConflict session.OnConflict
	Branch     string

	kept bool       // the images of the lines are stored
	from *core.Leaf // where to make the head if it does not exist
}

// Append stores lines and returns when they are durable. It fills in a missing id,
// parent and time: the parent is the head's leaf, or the line before. Lines that
// exist, byte for byte, are not stored again. On error nothing was stored,
// unless it is core.ErrUncertain. The errors are those of core.State.Admit,
// core.ErrInvalid, ErrTooLarge, ErrUnavailable and ErrFull.
//
// If another writer was first, a.OnConflict decides. A *core.FencedError or
// *core.ConflictError has the rejected lines, as they were given, and what was
// stored in between.
func (s *Session) Append(ctx context.Context, a Append) (rec core.Receipt, err error) {
	defer s.ss.cfg.Observer.appended(time.Now(), &rec, &err)
	ctx, end := s.span(ctx, "append", attribute.Int("sess.lines", len(a.Lines)))
	defer end(&err)
	a, err = s.withBranch(a)
	if err != nil {
		return core.Receipt{}, err
	}
	rec, err = s.enqueueAndWait(ctx, a)
	if err == nil {
		rec.Head = s.headOf(a, rec)
		return rec, nil
	}
	if !isConflict(err) {
		return core.Receipt{}, err
	}
	switch a.OnConflict {
	case session.Rebase:
		rec, err = s.rebase(ctx, a, err)
	case session.Branch:
		rec, err = s.branch(ctx, a, err)
	}
	if err != nil {
		return core.Receipt{}, s.withChanges(ctx, a, err)
	}
	return rec, nil
}

// enqueueAndWait is Append without a.OnConflict.
func (s *Session) enqueueAndWait(ctx context.Context, a Append) (core.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return core.Receipt{}, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	q, err := s.prepare(ctx, a)
	if err != nil {
		return core.Receipt{}, err
	}
	q.deadline = s.ss.retryDeadline(ctx)
	if err := s.ss.limit.acquire(q.size()); err != nil {
		return core.Receipt{}, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if err := s.enqueue(q); err != nil {
		s.ss.limit.release(q.size())
		return core.Receipt{}, err
	}
	return s.await(ctx, q)
}

// prepare checks what does not depend on the state, and stores the images of the
// lines.
func (s *Session) prepare(ctx context.Context, a Append) (*request, error) {
	a.Head = headOr(a.Head)
	if err := core.CheckHead(a.Head); err != nil {
		return nil, err
	}
	if len(a.Lines) == 0 || len(a.Lines) > maxLines {
		return nil, fmt.Errorf("append of %d lines, 1 to %d are allowed: %w", len(a.Lines), maxLines, core.ErrInvalid)
	}
	if a.Time == "" {
		a.Time = s.ss.cfg.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	}
	q := &request{Append: a, span: trace.SpanContextFromContext(ctx), began: s.ss.cfg.Now(), done: make(chan struct{}), lines: make([][]byte, len(a.Lines)), ids: make([]string, len(a.Lines))}
	d := s.dialect()
	if q.ID == nil {
		q.ID = s.newIDs(d)
	}
	for i, line := range a.Lines {
		e, err := checkLine(d, line, a.Loose)
		if err == nil && !a.Loose {
			err = newid.CheckEntry(e.ID)
		}
		if err != nil {
			return nil, &core.LineError{Line: i + 1, ID: e.ID, Err: err}
		}
		if !a.kept {
			es, n, err := s.ss.StoreImages(ctx, []core.Entry{e})
			if err != nil {
				return nil, &core.LineError{Line: i + 1, ID: e.ID, Err: err}
			}
			line = es[0].Line
			q.receipt.Blobs += n
		}
		q.lines[i] = line
		if e.ID == "" && !a.Loose {
			q.ids[i] = q.ID(i)
		}
	}
	return q, nil
}

// checkLine parses a line. Unless loose, the agent must be able to read it, too.
func checkLine(d core.Dialect, line []byte, loose bool) (core.Entry, error) {
	e, err := d.Entry(line)
	if c, ok := d.(optional.Checker); ok && err == nil && !loose {
		err = c.Check(line)
	}
	return e, err
}

// newIDs returns a generator of ids in the dialect's format that no entry of the
// session has. It never returns an id twice.
func (s *Session) newIDs(d core.Dialect) func(int) string {
	given := map[string]bool{}
	return func(int) string {
		for {
			id := d.EntryID(random())
			if !given[id] && !s.has(id) {
				given[id] = true
				return id
			}
		}
	}
}

func random() (b [16]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}

func (s *Session) has(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.st.Entry(id)
	return ok
}

func (s *Session) dialect() core.Dialect {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.st.Dialect
}
