package core

import "encoding/json"

// A Dialect reads sessions by the rules of the agent that wrote them. All its
// methods are pure and keep nothing; what they return may share memory with
// what they were given. No input makes them panic.
type Dialect interface {
	// Name is the dialect's name in the log, such as "pi".
	Name() string

	// Detect reports whether data begins like a file of this dialect.
	Detect(data []byte) bool

	// File reads a whole session file, migrating an old format as the agent
	// does. Ids that migration makes are derived from the content, so that
	// every reading gives the same. ErrInvalid when the file is no session of
	// this dialect; a bad line is no error, it is skipped and reported.
	File(data []byte) (*File, error)

	// Header reads a header line, Entry any other line. ErrInvalid when the
	// line is not one JSON object, or (Header) does not begin a session.
	Header(line []byte) (Header, error)
	Entry(line []byte) (Entry, error)

	// Fill returns line with those of the fields that it lacks added at its
	// end, otherwise unchanged, and the entry that makes.
	Fill(line []byte, f Fields) (Entry, error)

	// Layout is the lines of the agent's own file in its order, for a session
	// of this header and these entries in the order they came. It may leave
	// out entries that others replaced, and add a line the agent asks for.
	Layout(h Header, es []Entry) []Entry

	// Leaf is where the agent itself would go on after reading es as a file.
	Leaf(es []Entry) Leaf

	// Info, Tree and Context read a session whose leaf is leaf.
	Info(h Header, es []Entry, leaf Leaf) (Info, error)
	Tree(es []Entry) []TreeNode
	// Context returns the object that the agent's own context builder returns,
	// as JSON. ErrNotFound when leaf names an entry that is not there.
	Context(es []Entry, leaf Leaf) (json.RawMessage, error)
	// Path returns the entries from the root to leaf.
	Path(es []Entry, leaf Leaf) ([]Entry, error)
	// Summary is what a listing shows.
	Summary(h Header, es []Entry) Summary

	// Read returns what e says in terms that all agents share: nothing where
	// it says nothing that another agent could use. Ids in it are those of e's
	// session.
	Read(e Entry) []Item
	// Write makes a line that says it, without id, parent and time, for Fill.
	// lost names, for people, what of it the agent's format has no place for.
	// The line is nil where the format cannot say the item at all.
	Write(it Item) (line []byte, lost []string)

	// Linear reports whether the agent's sessions are one chain of entries,
	// without branches: such a session has only the head main.
	Linear() bool
	// Keeps reports whether the agent would have made a file for a session of
	// these entries. Most wait for the first answer of a model.
	Keeps(es []Entry) bool
	// EntryID makes an entry's id of the agent's own shape. random is not
	// enough to rule out that the id is taken: the caller looks.
	EntryID(random [16]byte) string

	// NewHeader makes the header line of a new session.
	NewHeader(f HeaderFields) []byte
	// NewLabel and NewName make lines without id, parent and time, for Fill.
	// An empty label or name clears.
	NewLabel(target, label string) []byte
	NewName(name string) []byte

	// ImageStore is the folder, beside the agent's folder of sessions, where
	// the agent itself keeps images under the hex of their SHA-256 and writes
	// "blob:sha256:…" into its lines. Empty where images are in the lines.
	ImageStore() string

	// FileName is where the agent looks for the session: a directory below
	// the agent's root of sessions, and a name in it. Both are safe to join.
	FileName(h Header) (dir, name string)
}

// A Checker is a Dialect whose agent reads some lines of its own types and
// leaves others out. What is appended has to pass; a file may hold anything.
type Checker interface {
	// Check returns nil for a line that the agent reads, before or after Fill,
	// and for any other an ErrInvalid that says what is wrong with it.
	Check(line []byte) error
}

// An Annotator is a Dialect whose messages carry notes of the channel that they
// came through, which change after the message was stored.
type Annotator interface {
	// WithMeta returns the message entry e with meta, an object or null, in
	// place of its own. ErrInvalid when e is no message or meta is neither.
	WithMeta(e Entry, meta json.RawMessage) (Entry, error)
	// WithReaction returns the first message in es that its channel calls
	// message, with emoji among its reactions. ErrNotFound when there is none.
	WithReaction(es []Entry, message, emoji string) (Entry, error)
}

// A Beginner is a dialect whose lines say which session they are of. Where the
// log makes a session, or copies lines into one of another header, Begin's line
// goes behind them.
type Beginner interface {
	// Begin makes a line without id, parent and time, for Fill.
	Begin(h Header) []byte
}

// Begun returns es as they begin a session of d whose header is h: behind them
// the line that says so, where d has such a line. id and time are for it.
func Begun(d Dialect, h Header, es []Entry, id, time string) ([]Entry, error) {
	b, ok := d.(Beginner)
	if !ok {
		return es, nil
	}
	e, err := d.Fill(b.Begin(h), Fields{ID: id, Parent: d.Leaf(es), Time: time, Place: len(es) + 1})
	if err != nil {
		return nil, err
	}
	return append(es[:len(es):len(es)], e), nil
}

// A Glancer is a Dialect that reads a line that is known to be tidy without
// going through all of it.
type Glancer interface {
	Dialect
	// Glance returns what Entry returns for line, of which an earlier Entry said
	// that it is Tidy. For other lines it returns anything.
	Glance(line []byte) Entry
}

// Fields are what Fill adds to a line that lacks them.
type Fields struct {
	ID     string
	Parent Leaf // LeafAt, or NoLeaf for a root; the default adds no parent
	Time   string
	// Place is which entry of a linear session it is, from 1: as many as Place-1
	// with a place in the tree stand before it. 0 where that is not known.
	Place int
}

// HeaderFields are what a new session's header says.
type HeaderFields struct {
	ID     string
	Time   string // ISO 8601 with milliseconds and Z
	CWD    string
	Parent string // empty for none
}

// Info is a session at a glance, the contract of `sessctl info -o json`.
type Info struct {
	Header     json.RawMessage   `json:"header"`
	Version    json.RawMessage   `json:"version"`
	SessionID  string            `json:"sessionId"`
	CWD        string            `json:"cwd"`
	EntryCount int               `json:"entryCount"`
	Types      map[string]int    `json:"types"`
	LeafID     *string           `json:"leafId"`
	Name       *string           `json:"name"`
	Labels     map[string]string `json:"labels"`
	// Own is what only this dialect has: one JSON object, or nil. Its members
	// are described in docs/DIALECTS.md.
	Own json.RawMessage `json:"own,omitempty"`
}

// A TreeNode is one entry in display order: parents before children, children
// oldest first. Depth is 0 for a root.
type TreeNode struct {
	ID             string  `json:"id"`
	Type           string  `json:"type"`
	Depth          int     `json:"depth"`
	Label          *string `json:"label,omitempty"`
	LabelTimestamp *string `json:"labelTimestamp,omitempty"`
}

// A Summary is what a listing shows of a session.
type Summary struct {
	Name     string `json:"name,omitempty"`
	First    string `json:"first,omitempty"` // the first user message, cut at 200 characters
	Messages int    `json:"messages"`
	Created  string `json:"created,omitempty"`
	Modified string `json:"modified,omitempty"` // ISO 8601, the last user or assistant message
	Usage    Usage  `json:"usage"`
	// Tags are the agent's own, for finding sessions; most agents have none.
	Tags []string `json:"tags,omitempty"`
}

// Usage is what a session has cost its owner. Tokens are counts, Cost is in the
// provider's currency as the agent wrote it.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
}

// Dialects are the dialects a program knows, by name.
type Dialects map[string]Dialect
