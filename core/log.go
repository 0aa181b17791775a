package core

import (
	"context"
	"iter"
)

// A Log keeps the records of sessions. It is what the protocol of package
// stream stands on; package logtest holds every Log to what is said here. Its
// methods may be called from several goroutines.
type Log interface {
	// Name is the log's name, part of every session's chain.
	Name() string

	// Append stores r as the session's next record when the session's last
	// record is the one at after (0: the session has none), and returns its
	// place. Of two calls that name the same place at most one succeeds.
	//
	// On error nothing was stored, but for ErrUncertain: the answer was lost,
	// and only reading tells. ErrConflict: the session's last record is
	// another. ErrFull: there is no room. ErrUnavailable: try again later.
	// Append does not keep or change r.
	Append(ctx context.Context, id SessionID, after Pos, r *Record) (Pos, error)

	// Last returns the session's last record, as fresh as the log can tell
	// without writing. ErrNotFound when it has none.
	Last(ctx context.Context, id SessionID) (*Record, error)

	// At returns the session's record at pos. ErrNotFound when there is none,
	// or when the record there is another session's.
	At(ctx context.Context, id SessionID, pos Pos) (*Record, error)

	// Read yields the session's records behind after in order, until it has
	// yielded the one at upTo or meets the end as its replica knows it: what
	// it yields may fall short of upTo. An error is yielded once, last, with
	// a nil Record.
	Read(ctx context.Context, id SessionID, after, upTo Pos) iter.Seq2[*Record, error]

	// Follow yields the session's records behind after as they are stored, in
	// order and without gaps, and waits for more. It ends when the caller
	// stops ranging, or with an error, ctx's included.
	Follow(ctx context.Context, id SessionID, after Pos) iter.Seq2[*Record, error]
}
