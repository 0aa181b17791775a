// Package optional has the interfaces that a dialect implements besides
// core.Dialect if its agent needs them. Callers ask for one with a type
// assertion.
package optional

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// A Checker is a core.Dialect whose agent ignores lines of its types that break its
// rules. Appended lines have to pass Check; a file may hold anything.
type Checker interface {
	// Check returns nil for a line that the agent reads, before or after Fill,
	// and otherwise an core.ErrInvalid that says what is wrong with the line.
	Check(line []byte) error
}

// A HeaderChecker is a core.Dialect whose agent does not read a session with any
// header that Header reads. The header of a new session has to pass CheckHeader; a
// file may have another one.
type HeaderChecker interface {
	// CheckHeader returns nil for a header that the agent reads, and otherwise a
	// core.ErrInvalid that says what is wrong with it.
	CheckHeader(h core.Header) error
}

// NewHeader reads line as the header of a new session of d.
func NewHeader(d core.Dialect, line []byte) (core.Header, error) {
	h, err := d.Header(line)
	if c, ok := d.(HeaderChecker); ok && err == nil {
		err = c.CheckHeader(h)
	}
	return h, err
}

// An Annotator is a core.Dialect whose messages carry metadata of the channel that
// they came through, which changes after the message was stored.
type Annotator interface {
	// WithMeta returns the message entry e with its metadata replaced by meta,
	// an object or null. Returns core.ErrInvalid if e is not a message, or meta is
	// neither an object nor null.
	WithMeta(e core.Entry, meta json.RawMessage) (core.Entry, error)

	// WithReaction returns the first message in es with the channel's id
	// message, with emoji added to its reactions. Returns core.ErrNotFound if there
	// is none.
	WithReaction(es []core.Entry, message, emoji string) (core.Entry, error)
}

// A SessionMarker is a core.Dialect whose entries say which session they belong to.
// When the log makes a session, or copies entries into one with another header,
// it appends the marker (see tree.WithSessionMark).
type SessionMarker interface {
	// SessionMark makes the marker line, without id, parent and time, for Fill.
	SessionMark(h core.Header) []byte
}

// A Rewriter is a core.Dialect whose agent does not write every line to its file
// byte for byte as it was given, or as it read it there.
type Rewriter interface {
	// AsWritten returns line as the agent writes it to its file, or line itself
	// if the agent does not change it.
	AsWritten(line []byte) []byte

	// SameHeader reports whether both lines are the header of one session,
	// apart from what the agent itself changes there.
	SameHeader(a, b []byte) bool
}

// A Relocator is a core.Dialect whose header names the directory in which the agent
// works, so that a session can continue in another directory.
type Relocator interface {
	// WithCWD returns the header line with its directory replaced by cwd. All
	// other bytes stay. Returns line itself if it names no directory.
	WithCWD(line []byte, cwd string) []byte
}

// A Mover is a core.Dialect whose lines name the directory of the session, so that
// its agent writes them differently where the session continues in another one.
type Mover interface {
	// SameElsewhere reports whether a and b are one line, apart from where the
	// session is.
	SameElsewhere(a, b []byte) bool
}

// A Successor is a core.Dialect whose agent replaces its whole file, so that the
// file has the result of changes, and not the changes.
type Successor interface {
	// Succession compares what a file has, file, with the session with header h
	// and entries es.
	Succession(h core.Header, es, file []core.Entry) Succession
}

// A Succession is the relation of a file to its session.
type Succession int

// How a file relates to its session.
const (
	Diverged Succession = iota // both have changes that the other lacks
	Earlier                    // the session had this content before
	Later                      // the agent made it from the session's current content
)

// A Completer is a core.Dialect whose agent itself changes a session after some
// entries, by a rule that holds for every writer.
type Completer interface {
	// Complete returns the line that the agent adds among the entries added to a
	// session with header h and entries es, without id and time, for Fill. It
	// follows the first n of added, n > 0. It returns nil if there is none.
	Complete(h core.Header, es, added []core.Entry) (line []byte, n int)
}

// A ForkCounter is a core.Dialect whose sessions know that others were forked from
// them.
type ForkCounter interface {
	// ForkMark makes the line that a session gets when the session with header
	// child was forked from it, without id and time, for Fill.
	ForkMark(child core.Header) []byte
}

// A Narrator is a core.Dialect whose entries change what earlier ones say, so that
// what a session says is not what its entries say one by one.
type Narrator interface {
	// ReadAll returns what the session says at leaf, in its order, as far as its
	// agent would still send it to a model. Returns core.ErrNotFound if
	// leaf names an entry that does not exist.
	ReadAll(h core.Header, es []core.Entry, leaf core.Leaf) ([]item.Item, error)
}

// An Editor is a core.Dialect whose agent has tools that change files.
type Editor interface {
	// EditTools returns how to read the calls of these tools, by the tools' names.
	EditTools() map[string]item.EditTool
}

// EditTools returns the tools of d's agent that change files, nil if none are known.
func EditTools(d core.Dialect) map[string]item.EditTool {
	if e, ok := d.(Editor); ok {
		return e.EditTools()
	}
	return nil
}
