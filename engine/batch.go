package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
)

// serveBatch stores one record with all requests that pass their checks. If the
// first deadline passes while nothing can have been stored, it retries for the other
// requests until Config.Timeout.
func (s *Session) serveBatch(batch []*request) {
	ctx, cancel := context.WithTimeout(s.ss.workers.ctx, s.ss.cfg.Timeout)
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
				s.ss.limit.release(q.size())
				close(q.done)
			}
		}
		batch = left
	}
}

// tryBatch returns the requests that have time left after another request's deadline
// has passed.
func (s *Session) tryBatch(ctx context.Context, batch []*request) (left []*request) {
	first := slices.MinFunc(batch, func(a, b *request) int { return a.deadline.Compare(b.deadline) })
	retryCtx, cancel := context.WithDeadline(ctx, first.deadline)
	defer cancel()
	err := s.lock(retryCtx)
	if err == nil {
		defer s.unlock()
		err = s.commit(ctx, retryCtx, func(st *core.State, fresh bool) (*core.Record, error) {
			return s.record(st, batch, fresh)
		})
	}
	if _, ok := errors.AsType[refusals](err); ok {
		err = nil // each has its own
	}
	late := errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) && retryCtx.Err() != nil && ctx.Err() == nil
	for _, q := range batch {
		switch {
		case late && time.Now().Before(q.deadline):
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

// record builds the record of a batch. A request that is rejected by a fresh state
// does not affect the others.
func (s *Session) record(st *core.State, batch []*request, fresh bool) (*core.Record, error) {
	var pending []core.Entry
	for _, q := range batch {
		q.err = s.admit(st, q, pending)
		if err := q.err; err != nil && !fresh {
			q.err = nil // no verdict yet
			return nil, err
		}
		if q.err == nil {
			before := len(pending)
			pending = complete(st, append(pending, q.entries...), before, q)
		}
	}
	if len(pending) == 0 {
		return nil, joinRefusals(batch)
	}
	s.sentEntries = pending
	return &core.Record{
		Kind:   core.KindAppend,
		Head:   batch[0].Head,
		Writer: s.writerOr(batch[0].Writer),
		Count:  len(pending),
		Body:   core.LinesBody(pending),
	}, nil
}

// joinRefusals returns why requests of a batch were rejected, or nil.
func joinRefusals(batch []*request) error {
	var all refusals
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

// refusals are the errors of the requests of a batch.
type refusals []error

func (r refusals) Error() string { return errors.Join(r...).Error() }

func (r refusals) Unwrap() []error { return r }

// admit fills in q's lines and lets the state decide: this is where an append is
// rejected.
func (s *Session) admit(st *core.State, q *request, pending []core.Entry) error {
	if err := checkHeadAllowed(st, q.Head); err != nil {
		return err
	}
	es, err := q.fill(st, pending, &s.tally)
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
		err = q.checkNewHead(st)
	}
	return err
}
