package materializer

import (
	"context"
	"iter"

	"github.com/sesslog/sesslog/core"
)

// A Directory is a table of one row per session, and the text of the sessions,
// made from the log. Rows are replaced only by rows of a higher seq. Its methods
// may be called from several goroutines. The one there is is in the package
// index; it is an interface so that programs that only speak of rows carry no
// database.
type Directory interface {
	// Put takes in a session that has changed, unless what is there is as new.
	// It is seen by List, Search and Changes after the next Sync, and on disk
	// with the floors that were set behind it, soon.
	Put(v View)
	// Sync returns when what was put before is seen, or cannot be stored now.
	Sync(ctx context.Context)
	// Seq is the seq of a session's row, 0 where it has none.
	Seq(id core.SessionID) uint64
	// Behind returns the sessions with records that no snapshot covers.
	Behind() []core.SessionID
	// Erased returns the sessions that were erased.
	Erased() []core.SessionID
	// Forget drops a session's row and text, so that they are made again.
	Forget(id core.SessionID)
	// ForgetIf drops those of all sessions that which names.
	ForgetIf(which func(core.SessionID) bool)

	// Floor is up to where a shard's records are in the rows.
	Floor(shard int) Floor
	// SetFloor says that a shard's records up to f were put, or passed over. It
	// does nothing while the shard is lost.
	SetFloor(shard int, f Floor)
	// Lost reports whether what was put of a shard is gone, because the directory
	// had to be made anew; Restart says that it is being put again from the
	// shard's beginning.
	Lost(shard int) bool
	Restart(shard int)

	// List returns a page of rows. core.ErrInvalid says what is wrong with f.
	List(ctx context.Context, f Filter) (Page, error)
	// Prompts returns the prompts that q asks for, newest first. core.ErrInvalid
	// says what is wrong with q.
	Prompts(ctx context.Context, q PromptQuery) (PromptPage, error)
	// Search returns what is found in the sessions' texts, newest first.
	// core.ErrInvalid says what is wrong with q.
	Search(ctx context.Context, q SearchQuery) (SearchPage, error)
	// Changes returns up to limit rows that changed after a mark, oldest change
	// first, and the mark to go on from. Each row comes once, as it is now.
	// core.ErrLost where the mark is of another directory: list anew.
	Changes(ctx context.Context, f Filter, after Mark, limit int) ([]Change, Mark, error)
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
	// Rows yields the row of every session, also of those in the trash and those
	// that were erased, by id. They are read a few at a time, whenever there are
	// none in hand: a row that comes or changes meanwhile may be met or not. An
	// error is yielded once, last.
	Rows(ctx context.Context) iter.Seq2[Row, error]
	// Kin returns the rows of a session, of those that it came from, and of
	// those that came from it, at any distance, the oldest first.
	Kin(ctx context.Context, id core.SessionID) ([]Row, error)
	// Len is how many sessions there are, the trash left out.
	Len() int

	// Run keeps what was put on disk until ctx ends, and once more then. The
	// error is never nil.
	Run(ctx context.Context) error
}

// A Floor is a place in a shard: every record up to there is in the rows.
type Floor struct {
	Pos core.Pos `json:"pos"`
	// Chain is that of the record at Pos. A log that has another there lost what
	// it had. It is zero where Pos is no record's.
	Chain core.Chain `json:"chain,omitzero"`
}
