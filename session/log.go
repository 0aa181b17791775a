package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Log keeps sessions. Its methods may be called from several goroutines. Their
// errors are those of package core; on error nothing was stored, but for
// core.ErrUncertain. Lines are given and taken with their images in them, and
// whoever gets a slice of them may keep it and may not change it.
type Log interface {
	// Create makes a session, whole, in one record. The same session with the
	// same Key again is no error; with another Key it is core.ErrExists.
	Create(ctx context.Context, n New) (core.Cursor, error)
	// Load returns a session as fresh as the log has it, also one in the trash.
	Load(ctx context.Context, id core.SessionID) (Loaded, error)
	// Append stores lines in one record. Lines that are there already with the
	// same bytes are not stored again.
	Append(ctx context.Context, id core.SessionID, w Writing, lines [][]byte) (Receipt, error)
	// Amend gives entries that are there, known by their ids, other lines.
	Amend(ctx context.Context, id core.SessionID, w Writing, lines [][]byte) (core.Cursor, error)
	// Move makes a head stand at a leaf, without an entry.
	Move(ctx context.Context, id core.SessionID, w Writing, leaf core.Leaf) (core.Cursor, error)
	// Claim makes a new writer the holder of a head and returns its claim. A
	// head that is held is a *core.FencedError, unless it is taken over. The
	// same again, by the same Writer, is no error.
	Claim(ctx context.Context, id core.SessionID, c Claim) (core.Claim, error)
	// Release gives up w's claim, if it has one, and says that the caller is
	// done with the session.
	Release(ctx context.Context, id core.SessionID, w Writing) error
	// Fork makes a new session of another and returns its name.
	Fork(ctx context.Context, id core.SessionID, f Fork) (core.SessionID, error)
	// Delete moves a session to the trash, where it can be read but not written.
	// Deleting a session that is in the trash is no error.
	Delete(ctx context.Context, id core.SessionID, n core.Notice) error
	// Recent returns sessions that are not in the trash, the latest changed
	// first.
	Recent(ctx context.Context, q Query) ([]Found, error)
	// Follow calls f with the session's records behind after, in order. With
	// wait it waits for more until f or ctx ends it, else it ends at the last
	// record there is. core.ErrLost when the log has no record at after.
	Follow(ctx context.Context, id core.SessionID, after core.Cursor, wait bool, f func(Event) error) error
}

// A New is a session to be made.
type New struct {
	ID      core.SessionID
	Dialect string
	Header  []byte   // the header's line
	Lines   [][]byte // of its entries: each with an id, and none before its parent
	By      string   // who makes it, for people
	Key     string   // by which the same request is known again
}

// A Writing says where and as whom a writer writes.
type Writing struct {
	Head   string
	Writer string      // of the claim it speaks from; empty for none
	After  core.Cursor // the head must not have moved since; zero for wherever it is
}

// A Receipt says where appended lines are.
type Receipt = core.Receipt

// A Claim asks for a head.
type Claim = core.ClaimRequest

// A Fork says what to make of a session.
type Fork struct {
	ID    core.SessionID // of the new session
	Whole bool           // all entries; else the path to At and the labels on it
	At    core.Leaf      // the default is where the head main stands
	CWD   string         // empty for the source's
	By    string
	Key   string // as for New
}

// A Loaded is a session as a log has it.
type Loaded struct {
	Dialect string
	Header  []byte
	Lines   [][]byte
	Heads   map[string]core.Leaf  // where each head stands; main is among them
	Claims  map[string]core.Claim // of the heads that are claimed
	Cursor  core.Cursor
	Covered uint64       // the number of the last record that a snapshot covers; 0 for none
	Deleted *core.Notice // set while the session is in the trash
}

// CheckWritable returns core.ErrDeleted if the session is in the trash. The
// error says who deleted it and why.
func (l Loaded) CheckWritable(id core.SessionID) error {
	n := l.Deleted
	if n == nil {
		return nil
	}
	text := fmt.Sprintf("session %s was deleted", id)
	if n.By != "" {
		text += " by " + clip(n.By)
	}
	if n.Why != "" {
		text += " (" + clip(n.Why) + ")"
	}
	return fmt.Errorf("%s: %w\nhint: sessctl rm --undo %s", text, core.ErrDeleted, id)
}

// A Query says which sessions are looked for. Empty fields do not narrow.
type Query struct {
	CWD     string // the directory that the agent works in, as it wrote it
	Dialect string
	Text    string // in the name or in the first message; case does not count
	Limit   int    // at most; 0 for as many as the log gives at once
}

// A Found is a session in a listing.
type Found struct {
	ID      core.SessionID
	Dialect string
	CWD     string
	core.Summary
}

// An Event is one record of a session.
type Event struct {
	Cursor core.Cursor
	Kind   core.Kind
	Head   string
	Lines  [][]byte        // of an append or an amend
	Body   json.RawMessage // of any other kind, an open apart
}
