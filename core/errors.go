package core

import (
	"errors"
	"fmt"
	"strings"
)

// The errors, distinguished by what the caller does next.
var (
	// ErrNotFound: the session, entry, head or blob does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: the session exists already; append to it instead.
	ErrExists = errors.New("already exists")
	// ErrInvalid: the input breaks a rule; sending it again will not help.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: the log holds something else at that position; read it and
	// decide again.
	ErrConflict = errors.New("conflict")
	// ErrFenced: another writer holds the head; stop writing to it.
	ErrFenced = errors.New("fenced")
	// ErrDeleted: the session is in the trash, or was erased.
	ErrDeleted = errors.New("deleted")
	// ErrHeld: the session is held: nothing of it may be deleted, erased or
	// redacted until the hold is released.
	ErrHeld = errors.New("held")
	// ErrUncertain: the answer was lost; the same lines again are the way to
	// learn it.
	ErrUncertain = errors.New("outcome unknown")
	// ErrUnavailable: no quorum, no connection, no object store; back off and
	// try again.
	ErrUnavailable = errors.New("unavailable")
	// ErrFull: the log refuses new records for want of room.
	ErrFull = errors.New("log is full")
	// ErrTooLarge: larger than the configured limit.
	ErrTooLarge = errors.New("too large")
	// ErrCorrupt: bytes are not what was promised; keep the evidence.
	ErrCorrupt = errors.New("corrupt")
	// ErrLost: the log no longer holds a record that it once acknowledged.
	ErrLost = errors.New("lost")
	// ErrTooNew: a newer version wrote a record this one does not know; it
	// reads on and writes nothing.
	ErrTooNew = errors.New("written by a newer version")
)

// A LineError names the line of the caller's input that is invalid.
type LineError struct {
	Line int    // counted from 1 in the caller's input
	ID   string // the entry's id, if the line has one
	Err  error
}

func (e *LineError) Error() string {
	line := fmt.Sprintf("line %d: ", e.Line)
	if e.ID != "" {
		line = fmt.Sprintf("line %d (entry %q): ", e.Line, clip(e.ID, 64))
	}
	return line + strings.TrimPrefix(e.Err.Error(), line) // a node's text names the line already
}

func (e *LineError) Unwrap() error { return e.Err }

// A FencedError names the holder of the head. It is an ErrFenced.
type FencedError struct {
	Session SessionID
	Head    string
	Holder  *Claim // nil when the head is free again: the writer's claim is over
	RejectedAppend
}

// RejectedAppend is what an append that another came before gives back. Any other
// request leaves it empty.
type RejectedAppend struct {
	Lines [][]byte // of the append, as the caller passed them; none is stored
	// Since is what happened to the head since the caller last saw it, oldest
	// first, as far as known. More is how many further records the session got.
	Since []Change
	More  int
}

func (e *FencedError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("head %q of session %s is no longer held by this writer, its claim is over", e.Head, e.Session) + sinceText(e.Since, e.More)
	}
	return fmt.Sprintf("head %q of session %s is held by %s", e.Head, e.Session, e.Holder) + sinceText(e.Since, e.More)
}

func (e *FencedError) Unwrap() error { return ErrFenced }

// A ConflictError says that a head, or the session, is not where the writer
// expected it. It is an ErrConflict.
type ConflictError struct {
	Session SessionID
	Head    string // empty if the whole session had to be unchanged
	Want    Cursor // where the caller expected the session
	Have    Cursor // where the session is
	Leaf    Leaf   // where the head is now
	RejectedAppend
}

func (e *ConflictError) Error() string {
	if e.Head == "" {
		return fmt.Sprintf("session %s changed: expected %s, it is at %s", e.Session, e.Want, e.Have)
	}
	return fmt.Sprintf("head %q of session %s moved: expected %s, it is at %s", e.Head, e.Session, e.Want, e.Have) + sinceText(e.Since, e.More)
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// Reason returns the text of err without the text of ErrInvalid at its end, for messages
// that already say that something is invalid.
func Reason(err error) string {
	if !errors.Is(err, ErrInvalid) {
		return err.Error()
	}
	return strings.TrimSuffix(err.Error(), ": "+ErrInvalid.Error())
}
