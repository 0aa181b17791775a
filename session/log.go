package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/lineage"
)

// A Log stores sessions. Its methods are safe for concurrent use. Their errors are
// those of package core; unless the error is core.ErrUncertain, nothing was stored.
// Lines contain their images. Receivers may keep slices of lines but must not
// modify them.
type Log interface {
	Store
	Reader
	Writer
}

// A Store makes sessions, and deletes them.
type Store interface {
	// Create stores a whole session in one record. Repeating it with the same
	// Key is no error; with another Key it returns core.ErrExists.
	Create(ctx context.Context, n New) (core.Cursor, error)
	// Fork copies a session and returns the id of the copy.
	Fork(ctx context.Context, id core.SessionID, f Fork) (core.SessionID, error)
	// Delete moves a session to the trash, where it can be read but not written.
	// Deleting a session that is in the trash is no error.
	Delete(ctx context.Context, id core.SessionID, n core.Notice) error
}

// A Reader reads sessions.
type Reader interface {
	// Load returns the current state of a session, also of one in the trash.
	Load(ctx context.Context, id core.SessionID) (Loaded, error)
	// Recent returns sessions that are not in the trash, the most recently
	// changed first.
	Recent(ctx context.Context, q Query) ([]Found, error)
	// Follow calls f with the session's records after the cursor, in order.
	// With wait it waits for more until f returns an error or ctx ends; else it
	// returns after the last record. It returns core.ErrLost if the log has no
	// record at the cursor.
	Follow(ctx context.Context, id core.SessionID, after core.Cursor, wait bool, f func(Event) error) error
}

// A Writer writes to the heads of sessions, and claims them.
type Writer interface {
	// Append stores lines in one record. It skips lines that the session has
	// byte-identical.
	Append(ctx context.Context, id core.SessionID, w Writing, lines [][]byte) (core.Receipt, error)
	// Amend replaces the lines of existing entries, identified by their ids.
	Amend(ctx context.Context, id core.SessionID, w Writing, lines [][]byte) (core.Cursor, error)
	// Move sets a head's leaf, without an entry.
	Move(ctx context.Context, id core.SessionID, w Writing, leaf core.Leaf) (core.Cursor, error)
	// Claim makes a new writer the holder of a head and returns its claim. If
	// another writer holds the head, it returns a *core.FencedError, unless the
	// request takes the head over. Repeating it with the same Writer is no error.
	Claim(ctx context.Context, id core.SessionID, c core.ClaimRequest) (core.Claim, error)
	// Release gives up w's claim, if there is one. The caller is done with the
	// session.
	Release(ctx context.Context, id core.SessionID, w Writing) error
}

// A New describes a session to create.
type New struct {
	ID      core.SessionID
	Dialect string
	Header  []byte   // the header's line
	Lines   [][]byte // of its entries: each with an id, parents before children
	By      string   // who creates it, for people
	Key     string   // idempotency key
}

// A Writing says which head is written, and by which writer. It is what every write
// of a program has in common. engine.Append is more: the lines, and what only a node
// decides, such as the ids and the time of lines that have none. client.AppendOptions
// is the same as text, as a user gives it, with the options of a request.
type Writing struct {
	Head   string
	Writer string      // of the claim; empty for none
	After  core.Cursor // refuse the write if the head has moved since; zero to allow it
}

// A Fork says how to copy a session.
type Fork struct {
	ID    core.SessionID // of the new session; default a new id
	Whole bool           // copy all entries, with main where it is in the source
	At    core.Leaf      // otherwise: where the copied path ends; the default is main's leaf
	// Branched carries over the labels of the path from anywhere in the tree, as new
	// entries after the path. Agents call the result a branched session.
	Branched bool
	CWD      string // default the source's
	By       string
	Key      string // as for New
	// Kind is how the new session refers to its source: lineage.Fork (the default),
	// lineage.Branch (the default if Branched), or lineage.Detach, which does not name it.
	Kind lineage.Kind
}

// A Loaded is the state of a session in a log.
type Loaded struct {
	Dialect string
	Header  []byte
	Lines   [][]byte
	Heads   map[string]core.Leaf  // by head; main is included
	Claims  map[string]core.Claim // by head
	Cursor  core.Cursor
	Covered uint64       // number of the last record that a snapshot covers; 0 for none
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

// A Query selects sessions. Empty fields match all.
type Query struct {
	CWD     string // the agent's working directory, as it wrote it
	Dialect string
	Text    string // part of the name or of the first message; ignores case
	Limit   int    // 0: the log's own limit
}

// A Found is a session in a listing.
type Found struct {
	ID      core.SessionID
	Dialect string
	CWD     string
	display.Summary
}

// An Event is one record of a session.
type Event struct {
	Cursor core.Cursor
	Kind   core.Kind
	Head   string
	Lines  [][]byte        // of an append or an amend
	Body   json.RawMessage // of any other kind except open
}
