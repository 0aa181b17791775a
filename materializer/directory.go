package materializer

import (
	"context"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// Directory is what a Materializer keeps up to date. index.Index implements it. Its
// methods may be called from several goroutines.
type Directory interface {
	RowWriter
	RowReader
	Floors
	// Run writes to disk what was put, until ctx ends, and a last time then. The
	// error is never nil.
	Run(ctx context.Context) error
}

// RowWriter keeps one row per session, and the text of the sessions.
type RowWriter interface {
	// Put replaces a session's row and text, unless the row there has the same or
	// a higher seq. Queries see it after the next Sync at the latest.
	Put(v View)
	// Sync returns when queries see everything that was put before, or when that
	// cannot be stored now, or when ctx ends.
	Sync(ctx context.Context)
	// Pending returns how many sessions were put that queries do not see yet.
	Pending() int
	// Forget drops a session's row and text, so that the next Put stores them
	// whatever its seq.
	Forget(id core.SessionID)
	// ForgetIf drops those of all sessions that match.
	ForgetIf(match func(core.SessionID) bool)
}

// RowReader reads the rows.
type RowReader interface {
	// Seq returns the seq of a session's row, 0 if there is none.
	Seq(id core.SessionID) uint64
	// Row returns the row of a session; Rows yields all, as far as they are stored.
	Row(ctx context.Context, id core.SessionID) (row catalog.Row, ok bool, err error)
	Rows(ctx context.Context) iter.Seq2[catalog.Row, error]
	// Behind returns the sessions with records that no snapshot covers.
	Behind() []core.SessionID
	// Erased returns the erased sessions.
	Erased() []core.SessionID
}

// Floors holds, per shard, up to which record the rows are complete.
type Floors interface {
	// Floor returns the floor of a shard.
	Floor(shard int) Floor
	// SetFloor stores the floor together with the rows that were put before. It
	// does nothing while the shard is lost.
	SetFloor(shard int, f Floor)
	// Lost reports whether the shard's rows are gone, because the directory was
	// corrupt and is being rebuilt. Restart ends that: the caller puts the
	// shard's sessions again, from the shard's first record on.
	Lost(shard int) bool
	Restart(shard int)
}

// A Floor is a position in a shard: every record up to it is in the rows.
type Floor struct {
	Pos core.Pos `json:"pos"`
	// Chain is that of the record at Pos, zero if no record is there. A log with
	// another chain at Pos has lost records.
	Chain core.Chain `json:"chain,omitzero"`
}
