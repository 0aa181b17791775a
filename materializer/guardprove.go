package materializer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

const lostRecords = "the log lost acknowledged records of a session; look with: sessctl doctor"

// Examine compares a session in the log with what proves which records it had, and
// notes or forgets its loss.
func (g *Guard) Examine(ctx context.Context, id core.SessionID) error {
	old, unread := g.noted(ctx, id)
	found, err := g.prove(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case found == nil && old != nil && !old.Accepted:
		end, err := g.endOf(ctx, id)
		if err == nil && (end.Kind == core.KindErase || end.Seq >= old.Proved) {
			return g.forget(ctx, id)
		}
		return err
	case found == nil, old != nil && found.Proved <= old.Proved:
		return nil
	}
	found.Found = time.Now().UTC()
	g.logger.Error(lostRecords, "session", id, "loss", found.String())
	if old != nil {
		found.End = min(found.End, old.End)
	}
	if unread != nil { // a note in the bucket may prove more
		g.keep(found)
		return unread
	}
	return g.note(ctx, found)
}

// prove returns what the log lost of a session, nil if nothing proves a loss. The
// witnesses are read before the log, which therefore has all that they prove unless
// it lost it. A leader that lacks it is replaced first.
func (g *Guard) prove(ctx context.Context, id core.SessionID) (*report.Loss, error) {
	w, err := g.witnesses(ctx, id)
	if err != nil {
		return nil, err
	}
	for replaced := false; ; replaced = true {
		end, err := g.endOf(ctx, id)
		if err != nil {
			return nil, err
		}
		l := w.loss(id, end.Seq)
		if l == nil || end.Kind == core.KindErase {
			return nil, nil
		}
		if !replaced && g.log.ReplaceLeader(ctx, id) {
			continue
		}
		err = g.log.Prove(ctx, id, end.Pos)
		if errors.Is(err, core.ErrConflict) {
			return nil, nil // the leader lagged, or the session grew
		}
		if err != nil && !errors.Is(err, core.ErrFull) {
			return nil, err
		}
		return l, nil
	}
}

// endOf returns the last record of a session, a zero one if the log has none. If it
// cannot be read, it returns the error: then the session is known to be corrupt.
func (g *Guard) endOf(ctx context.Context, id core.SessionID) (*core.Record, error) {
	end, err := g.log.LastLink(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return &core.Record{}, nil
	}
	return end, err
}

func (g *Guard) witnesses(ctx context.Context, id core.SessionID) (w witnesses, err error) {
	if rows := g.directory.Load(); rows != nil {
		if w.row, _, err = (*rows).Row(ctx, id); err != nil {
			return w, err
		}
	}
	w.snapshots, err = g.kept(ctx, id)
	if errors.Is(err, core.ErrUnavailable) && w.row.Seq > 0 {
		err = nil // the row alone may prove it
	}
	return w, err
}

const (
	// keptTimeout is how long the bucket may take to list a session's snapshots.
	keptTimeout = 2 * time.Second
	// awayFor is how long the bucket is not asked after it did not answer, so that
	// requests that do not need it do not wait for it.
	awayFor = 30 * time.Second
)

// kept returns the snapshots of a session. It does not wait for a bucket that does not
// answer.
func (g *Guard) kept(ctx context.Context, id core.SessionID) ([]blobstore.Info, error) {
	var all []blobstore.Info
	err := g.ask(ctx, id, func(ctx context.Context) (err error) {
		all, err = g.snapshots.Kept(ctx, g.log.Name(), id)
		return err
	})
	return all, err
}

// ask calls f, which asks the bucket about a session, unless the bucket did not answer
// shortly before.
func (g *Guard) ask(ctx context.Context, id core.SessionID, f func(context.Context) error) error {
	if time.Since(time.Unix(0, g.away.Load())) < awayFor {
		return fmt.Errorf("snapshots of session %s: the object store does not answer: %w", id, core.ErrUnavailable)
	}
	asking, cancel := context.WithTimeout(ctx, keptTimeout)
	defer cancel()
	err := f(asking)
	if err != nil && ctx.Err() == nil {
		g.away.Store(time.Now().UnixNano())
		err = fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return err
}
