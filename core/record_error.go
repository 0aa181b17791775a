package core

import (
	"errors"
	"time"
)

// A RecordError names the message of a log that could not be read as a record.
type RecordError struct {
	Pos Pos // 0 if not even the position could be read
	Err error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// ErrBody is damage to a body that is kept as a blob; the record itself is intact.
var ErrBody = errors.New("body")

// IsGone reports whether err means that a record is missing or unreadable.
func IsGone(err error) bool {
	_, corrupt := errors.AsType[*RecordError](err)
	return corrupt || errors.Is(err, ErrNotFound)
}

// GraceSpent reports whether a blob that was put at began may have been collected
// by now: half of the collector's grace has passed. A grace of 0 means that
// nothing collects blobs. Time is compared by the calendar, which also advances
// while a host sleeps.
func GraceSpent(now, began time.Time, grace time.Duration) bool {
	return grace > 0 && now.Round(0).Sub(began.Round(0)) > grace/2
}
