package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// A Log is what the protocol needs of a log: a core.Log with what a replicated
// log can tell beyond it. *stream.Log is one; Plain makes one of any core.Log.
type Log interface {
	core.Log
	core.Prover

	// LastLink and LinkAt are Last and At for a caller that needs no entries:
	// those of append and amend records, and a large body, are missing.
	LastLink(ctx context.Context, id core.SessionID) (*core.Record, error)
	LinkAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error)

	// Scan is Read without bodies.
	Scan(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*storage.Lazy, error]

	// ReadFromLeader is Read from the leader instead of any replica, for records
	// that a replica lacks because it lags or is corrupt. A leader that lacks the
	// record at upTo is made to step down if another replica has it. It yields
	// nothing if no leader has all of the records, or if there are too many.
	ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error]

	// Range returns the first and the last position that the session's shard
	// holds. Records before first were truncated.
	Range(ctx context.Context, id core.SessionID) (first, last core.Pos, err error)

	// AdmitBlobs returns core.ErrFull if the server is too full for the blobs of
	// new entries.
	AdmitBlobs() error

	// Backfilled counts the records that Read has taken from the leader because
	// the replica that it read is corrupt.
	Backfilled() uint64
}

// Plain makes a Log of a core.Log that has one copy and no space limit, so that
// its answers are its leader's. It is for logs in memory.
func Plain(l core.Log) Log { return plain{l} }

type plain struct{ core.Log }

func (l plain) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	r, err := l.Last(ctx, id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		r = &core.Record{}
	case err != nil:
		return err
	}
	if r.Pos != last {
		return fmt.Errorf("the last record is at %d: %w", r.Pos, core.ErrConflict)
	}
	return nil
}

func (l plain) LastLink(ctx context.Context, id core.SessionID) (*core.Record, error) {
	return link(l.Last(ctx, id))
}

func (l plain) LinkAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	return link(l.At(ctx, id, pos))
}

func link(r *core.Record, err error) (*core.Record, error) {
	if err != nil || r.Kind != core.KindAppend && r.Kind != core.KindAmend {
		return r, err
	}
	l := *r
	l.Body = nil
	return &l, nil
}

func (l plain) Scan(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*storage.Lazy, error] {
	return func(yield func(*storage.Lazy, error) bool) {
		for r, err := range l.Read(ctx, id, after, upTo) {
			var z *storage.Lazy
			if err == nil {
				z = storage.LazyOf(r)
			}
			if !yield(z, err) || err != nil {
				return
			}
		}
	}
}

func (l plain) ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return l.Read(ctx, id, after, upTo)
}

func (l plain) Range(ctx context.Context, id core.SessionID) (first, last core.Pos, err error) {
	r, err := l.Last(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	return 1, r.Pos, nil
}

func (l plain) AdmitBlobs() error  { return nil }
func (l plain) Backfilled() uint64 { return 0 }
