package storage

import (
	"errors"

	"github.com/sesslog/sesslog/core"
)

// A RecordError names the message of a log that could not be read as a record.
type RecordError struct {
	Pos core.Pos // 0 if not even the position could be read
	Err error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// An EndError says that the last record of a session cannot be read.
type EndError struct {
	After core.Pos // of the last record that can be read; 0 if there is none
	Err   error
}

func (e *EndError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *EndError) Unwrap() error { return e.Err }

// ErrBody is damage to a body that is kept as a blob; the record itself is intact.
var ErrBody = errors.New("body")

// IsGone reports whether err means that a record is missing or unreadable.
func IsGone(err error) bool {
	_, corrupt := errors.AsType[*RecordError](err)
	return corrupt || errors.Is(err, core.ErrNotFound)
}
