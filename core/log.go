package core

import (
	"context"
	"iter"
)

// A Log stores the records of sessions. The protocol is built on it, and
// package logtest checks every Log for what is promised here. Its methods are
// safe for concurrent use.
type Log interface {
	// Name is the log's name, part of every session's chain.
	Name() string

	// Append stores r as the session's next record if the session's last record
	// is the one at after (0: the session has none), and returns its position.
	// Of two calls with the same after, at most one succeeds. Append does not
	// keep or modify r.
	//
	// On error nothing was stored, except for ErrUncertain: the answer was
	// lost, and the caller has to read the session to find out. ErrConflict:
	// the session's last record is another one. ErrFull: the log has no room.
	// ErrUnavailable: try again later.
	Append(ctx context.Context, id SessionID, after Pos, r *Record) (Pos, error)

	// Last returns the session's last record, as fresh as the log can tell
	// without writing. Returns ErrNotFound if the session has none.
	Last(ctx context.Context, id SessionID) (*Record, error)

	// At returns the session's record at pos. Returns ErrNotFound if there is
	// none, or if it belongs to another session.
	At(ctx context.Context, id SessionID, pos Pos) (*Record, error)

	// Read yields the session's records after position after in order, until it
	// has yielded the one at upTo or reaches the end that its replica knows: it
	// may end before upTo. An error is yielded once, last, with a nil Record.
	Read(ctx context.Context, id SessionID, after, upTo Pos) iter.Seq2[*Record, error]

	// Follow yields the session's records after position after as they are
	// stored, in order and without gaps, and waits for more. It ends when the
	// caller stops ranging, or with an error, including that of ctx.
	Follow(ctx context.Context, id SessionID, after Pos) iter.Seq2[*Record, error]
}
