package core

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// A Dialect reads and writes sessions by the rules of one agent. It is made of
// parts by use; code that needs one part asks for that part.
//
// All methods are pure and keep no state. What they return may share memory with
// their arguments. No input makes them panic.
//
// A dialect may also implement TidyDecoder, Admitter and Linker, which the fold
// uses, and the interfaces of the packages optional and bundle, if its agent
// needs them.
//
// A new dialect fits a session that is more than a file of entry lines as
// follows:
//
//   - Metadata lines that are not entries are entries with Aside set. They keep
//     their place among the lines, and Layout puts them where the agent expects
//     them. The title slot of omp is one.
//   - A session that is a fold of changes keeps each change as one entry, is
//     Linear, and folds the entries in View. Layout writes the agent's own form
//     of the result, and leaves out entries that later ones replace. Nova is
//     such a dialect.
//   - Files beside the main file are read and written by a bundle.Bundler.
//   - A source that is not a file, such as a database, has an export that Decoder
//     reads. FileName returns an empty name if there is no file to resume from.
type Dialect interface {
	Decoder
	Encoder
	Tree
	View
	Translator
	Files
}

// A Decoder recognizes an agent's data and reads its lines.
type Decoder interface {
	// Name is the dialect's name in the log, such as "pi".
	Name() string

	// Detect reports whether data begins like a file of this dialect.
	Detect(data []byte) bool

	// File reads a whole session file. It migrates an old format as the agent
	// does; ids that the migration makes are derived from the content, so every
	// reading gives the same ids. Bad lines are skipped and reported in the
	// result. Returns ErrInvalid if data is not a session of this dialect.
	File(data []byte) (*File, error)

	// Header reads a header line. Returns ErrInvalid if the line is not one JSON
	// object, or does not begin a session.
	Header(line []byte) (Header, error)

	// Entry reads any other line. Returns ErrInvalid if the line is not one JSON
	// object.
	Entry(line []byte) (Entry, error)
}

// An Encoder makes the lines that an agent would write.
type Encoder interface {
	// Fill adds those of the fields that line lacks at its end, and returns the
	// resulting entry. All other bytes stay.
	Fill(line []byte, f Fields) (Entry, error)

	// EntryID makes an entry id of the agent's own shape. random is not enough
	// to rule out a collision: the caller checks that the id is free.
	EntryID(random [16]byte) string

	// NewHeader makes the header line of a new session.
	NewHeader(f HeaderFields) []byte

	// NewLabel and NewName make lines without id, parent and time, for Fill. An
	// empty label or name clears the one that was set.
	NewLabel(target, label string) []byte
	NewName(name string) []byte
}

// A Tree finds positions among a session's entries.
type Tree interface {
	// Linear reports whether the agent's sessions are one chain of entries,
	// without branches. Such a session has only the head main.
	Linear() bool

	// Leaf is the entry where the agent itself would continue after reading es
	// as a file.
	Leaf(es []Entry) Leaf

	// Path returns the entries from the root to leaf. Returns ErrNotFound if
	// leaf names an entry that does not exist.
	Path(es []Entry, leaf Leaf) ([]Entry, error)

	// Tree returns the entries in the order in which the agent shows them.
	Tree(es []Entry) []display.TreeNode
}

// A View shows a session to people and models.
type View interface {
	// Info describes a session whose leaf is leaf. Returns ErrNotFound if leaf
	// names an entry that does not exist.
	Info(h Header, es []Entry, leaf Leaf) (display.Info, error)

	// Context returns the object that the agent's own context builder returns
	// at leaf, as JSON. Returns ErrNotFound if leaf names an entry that does not
	// exist.
	Context(es []Entry, leaf Leaf) (json.RawMessage, error)

	// Summary is the session's row in a listing.
	Summary(h Header, es []Entry) display.Summary
}

// A Translator converts between an agent's entries and the items that all agents
// share.
type Translator interface {
	// Read returns what e says as items, or none if e says nothing that another
	// agent could use. Ids in the items are those of e's session.
	Read(e Entry) []item.Item

	// Write makes a line that says it, without id, parent and time, for Fill.
	// The line is nil if the agent's format cannot say the item at all. lost
	// names, for people, each part of the item that the format has no place for.
	Write(it item.Item) (line []byte, lost []string)
}

// Files describes how an agent keeps sessions on its host.
type Files interface {
	// FileName is where the agent looks for the session: a directory below the
	// agent's root of sessions, and a name in it. Both are safe to join.
	FileName(h Header) (dir, name string)

	// ImageStore is the folder, next to the agent's folder of sessions, where
	// the agent keeps images under the hex of their SHA-256; its lines then say
	// "blob:sha256:…". Empty if images are part of the lines.
	ImageStore() string

	// Layout returns the lines of the agent's own file in order, for a session
	// with this header and these entries in the order in which they were
	// appended. It may leave out entries that others replaced, and add a line
	// that the agent requires.
	Layout(h Header, es []Entry) []Entry

	// Keeps reports whether the agent would have written a file for a session
	// with these entries. Most agents wait for the first answer of a model.
	Keeps(es []Entry) bool
}

// Fields are what Fill adds to a line that lacks them.
type Fields struct {
	ID     string
	Parent Leaf // LeafAt, or NoLeaf for a root; the zero Leaf adds no parent
	Time   string
	// Place is the entry's position in a linear session, counted from 1 over
	// the entries that have a place in the tree. 0 if unknown.
	Position int
	Header   Header // of the session; zero if unknown
}

// HeaderFields are what a new session's header says.
type HeaderFields struct {
	ID     string
	Time   string // ISO 8601 with milliseconds and Z
	CWD    string
	Parent string // empty for none
}

// Dialects are the dialects that a program knows, by name.
type Dialects map[string]Dialect
