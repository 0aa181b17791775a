package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// batchBytes is the size from which waiting lines no longer share a record. It is
// what a JetStream message takes before its body becomes a blob.
const batchBytes = 256 << 10

const (
	// maxWaiting bounds the appends that wait for a session's turn.
	maxWaiting = 256
	// maxLines bounds the lines of one append.
	maxLines = 100_000
)

// An Append is lines for a head.
type Append struct {
	Head   string // default core.MainHead
	Writer string // of the claim it speaks from; empty for none
	Loose  bool   // see core.Proposal
	After  *core.Cursor
	Exact  bool // see core.Proposal
	Lines  [][]byte
	// ID returns the id of the line at i where it has none; default new ids of
	// the dialect's own shape, none of which the session has.
	// An append that may be repeated must give the same ids again.
	ID func(i int) string
	// Time is the time of lines that have none; default now.
	Time string
	// OnConflict says what to do where another writer came first, and Branch
	// what the head is called that session.Branch makes; default a name made of
	// the head's and the lines' ids, the same on every try.
	OnConflict session.OnConflict
	Branch     string

	kept bool       // the lines are as the log keeps them already
	from *core.Leaf // the head is made here, where it is not there
}

// A Receipt says where appended lines are.
type Receipt = core.Receipt

// A request is an Append on its way.
type request struct {
	Append
	lines   [][]byte          // as the log keeps them
	ids     []string          // given to lines that have none, on every try the same
	span    trace.SpanContext // that it is part of
	began   time.Time         // when its blobs were put
	until   time.Time         // when it is given up, if it cannot have been stored by then
	done    chan struct{}
	entries []core.Entry // admitted
	receipt Receipt
	err     error
}

// store is Append that leaves it to its caller what to do where another came
// first.
func (s *Session) store(ctx context.Context, a Append) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	q, err := s.prepare(ctx, a)
	if err != nil {
		return Receipt{}, err
	}
	q.until = s.ss.until(ctx)
	if err := s.ss.queue.enter(q.size()); err != nil {
		return Receipt{}, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if err := s.enqueue(q); err != nil {
		s.ss.queue.leave(q.size())
		return Receipt{}, err
	}
	return s.await(ctx, q)
}

// prepare checks what can be checked without the state, and makes the lines'
// images durable.
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
		e, err := checked(d, line, a.Loose)
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

// checked reads a line, which the agent must be able to read too, unless loose
// lines are taken.
func checked(d core.Dialect, line []byte, loose bool) (core.Entry, error) {
	e, err := d.Entry(line)
	if c, ok := d.(core.Checker); ok && err == nil && !loose {
		err = c.Check(line)
	}
	return e, err
}

// newIDs returns a maker of ids of the dialect's own shape that no entry of the
// session has, and that differ among themselves.
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

// enqueue puts q in line, and starts the goroutine that serves the line where
// none is at it.
func (s *Session) enqueue(q *request) error {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	if len(s.queue) >= maxWaiting {
		return fmt.Errorf("session %s has %d appends waiting, try again: %w", s.id, len(s.queue), core.ErrUnavailable)
	}
	s.queue = append(s.queue, q)
	if !s.serving {
		s.serving = true
		go s.serve()
	}
	return nil
}

// serve stores what waits, a record at a time, until nothing does. An append
// is seen through even when its caller has gone.
func (s *Session) serve() {
	for {
		s.letOthers()
		batch := s.take()
		if batch == nil {
			return
		}
		s.serveBatch(batch)
	}
}

// take removes from the queue the requests that may share a record with its
// first. It returns none, and ends the service, when the queue is empty.
func (s *Session) take() []*request {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	if len(s.queue) == 0 {
		s.serving = false
		return nil
	}
	n, size := 0, 0
	for _, q := range s.queue {
		if n > 0 && !q.joins(s.queue[0]) {
			break
		}
		if size += q.size(); n > 0 && size > batchBytes {
			break
		}
		n++
	}
	batch := s.queue[:n:n]
	s.queue = append([]*request(nil), s.queue[n:]...)
	return batch
}

// size is how many bytes q adds to a record.
func (q *request) size() (n int) {
	for _, line := range q.lines {
		n += len(line) + 1
	}
	return n
}

// joins reports whether q may share a record with first.
func (q *request) joins(first *request) bool {
	return q.Head == first.Head && q.Writer == first.Writer && !q.alone() && !first.alone()
}

// alone reports whether q takes a record of its own: it expects a position, or
// its lines may lack the ids that others behind it would continue.
func (q *request) alone() bool { return q.After != nil || q.Loose || q.from != nil }

// serveBatch stores one record of all the requests that pass their checks. What
// cannot have been stored when the first of them is given up is tried again for
// the others, until the time that one record may take is over.
func (s *Session) serveBatch(batch []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), s.ss.cfg.Timeout)
	defer cancel()
	ctx, span := s.batchSpan(ctx, batch)
	defer span.End()
	for len(batch) > 0 {
		left := s.tryBatch(ctx, batch)
		for _, q := range batch {
			if !slices.Contains(left, q) {
				if q.err == nil && q.receipt.Blobs > 0 {
					q.err = s.ss.renewLines(ctx, q.began, q.Lines)
				}
				s.ss.queue.leave(q.size())
				close(q.done)
			}
		}
		batch = left
	}
}

// tryBatch returns those requests of a batch that have time left, where others
// ran out of theirs.
func (s *Session) tryBatch(ctx context.Context, batch []*request) (left []*request) {
	first := slices.MinFunc(batch, func(a, b *request) int { return a.until.Compare(b.until) })
	soon, cancel := context.WithDeadline(ctx, first.until)
	defer cancel()
	err := s.lock(soon)
	if err == nil {
		defer s.unlock()
		err = s.commit(ctx, soon, func(st *core.State, fresh bool) (*core.Record, error) {
			return s.record(st, batch, fresh)
		})
	}
	if _, ok := errors.AsType[refused](err); ok {
		err = nil // each has its own
	}
	late := errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) && soon.Err() != nil && ctx.Err() == nil
	for _, q := range batch {
		switch {
		case late && time.Now().Before(q.until):
			q.err = nil
			left = append(left, q)
		case q.err != nil && (err == nil || !needsProof(q.err)):
		case err != nil:
			q.err = err
		default:
			q.receipt.Cursor = s.st.Cursor()
		}
	}
	return left
}

// record makes the record of a batch. A request that fails fails alone, once
// the state is fresh.
func (s *Session) record(st *core.State, batch []*request, fresh bool) (*core.Record, error) {
	var pending []core.Entry
	for _, q := range batch {
		q.err = s.admit(st, q, pending)
		if err := q.err; err != nil && !fresh {
			q.err = nil // no verdict yet
			return nil, err
		}
		if q.err == nil {
			pending = append(pending, q.entries...)
		}
	}
	if len(pending) == 0 {
		return nil, refusals(batch)
	}
	return &core.Record{
		Kind:   core.KindAppend,
		Head:   batch[0].Head,
		Writer: s.writerOr(batch[0].Writer),
		Count:  len(pending),
		Body:   core.LinesBody(pending),
	}, nil
}

// refusals returns why requests of a batch were refused, each of which has its
// own error, or nil.
func refusals(batch []*request) error {
	var all refused
	for _, q := range batch {
		if q.err != nil {
			all = append(all, q.err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// refused are the errors of the requests of a batch.
type refused []error

func (r refused) Error() string { return errors.Join(r...).Error() }

func (r refused) Unwrap() []error { return r }

// admit fills in q's lines and checks them against the state and the entries
// that go before them in the same record.
func (s *Session) admit(st *core.State, q *request, pending []core.Entry) error {
	if err := onMain(st, q.Head); err != nil {
		return err
	}
	es, err := q.fill(st, pending)
	if err != nil {
		return err
	}
	q.entries, err = st.Admit(core.Proposal{
		Head: q.Head, Writer: q.Writer, Claimed: q.Writer != "", Loose: q.Loose, After: q.After, Exact: q.Exact,
		Pending: pending, Entries: es,
	})
	q.receipt.Stored = len(q.entries)
	q.receipt.IDs = make([]string, len(es))
	for i := range es {
		q.receipt.IDs[i] = es[i].ID
	}
	if err == nil && len(q.entries) > 0 {
		err = q.notThere(st)
	}
	return err
}

// fill returns q's lines as entries with an id, a parent and a time. A line
// whose id is there already, in the session or in the same record, takes the
// parent and the time it has there, so that a repeated append gives the same
// bytes.
func (q *request) fill(st *core.State, pending []core.Entry) ([]core.Entry, error) {
	leaf := st.Leaf(q.Head)
	if q.from != nil && st.Heads[q.Head] == nil {
		leaf = *q.from
	}
	if core.AnyInTree(pending) {
		leaf = st.Dialect.Leaf(pending)
	}
	places := newPlaces(st, pending)
	es := make([]core.Entry, len(q.lines))
	for i, line := range q.lines {
		if q.Loose {
			e, err := st.Dialect.Entry(line)
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			es[i] = e
			continue
		}
		e, err := q.fillLine(st, pending, i, line, leaf, places)
		if err != nil {
			return nil, &core.LineError{Line: i + 1, Err: err}
		}
		places.add(e)
		es[i] = e
		if !e.Aside {
			leaf = st.Dialect.Leaf(es[i : i+1])
		}
	}
	return es, nil
}

func (q *request) fillLine(st *core.State, pending []core.Entry, i int, line []byte, leaf core.Leaf, places *places) (core.Entry, error) {
	id := q.ids[i]
	if id == "" {
		e, err := st.Dialect.Entry(line)
		if err != nil {
			return e, err
		}
		id = e.ID
	}
	old, ok := known(st, pending, id)
	if !ok {
		return st.Dialect.Fill(line, core.Fields{ID: id, Parent: leaf, Time: q.Time, Position: places.of(id)})
	}
	parents := []core.Leaf{core.LeafAt(old.Parent)}
	if old.Parent == "" { // a root says so, or says nothing
		parents = []core.Leaf{core.NoLeaf, {}}
	}
	if q.OnConflict == session.Rebase { // an earlier try may have been stored elsewhere
		line = core.Reparent(st.Dialect, line, parents[0])
	}
	var e core.Entry
	for _, parent := range parents {
		var err error
		e, err = st.Dialect.Fill(line, core.Fields{ID: id, Parent: parent, Time: old.Time, Position: places.of(id)})
		if err != nil || bytes.Equal(e.Line, old.Line) {
			return e, err
		}
	}
	return e, nil
}

// known returns the entry called id, of the session or of the record that is
// being made.
func known(st *core.State, pending []core.Entry, id string) (core.Entry, bool) {
	if e, ok := st.Entry(id); ok {
		return e, true
	}
	i := slices.IndexFunc(pending, func(e core.Entry) bool { return e.ID == id })
	if i < 0 || id == "" {
		return core.Entry{}, false
	}
	return pending[i], true
}
