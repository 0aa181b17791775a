package hint

import (
	"errors"
	"fmt"
)

// An Error is an error with the command that helps. Its text is that of Err; the
// hint is printed on a separate line.
type Error struct {
	Err  error
	Next string
}

// Error returns the text of e.Err, without the hint.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// With returns err with a hint, or nil if err is nil.
func With(err error, form string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{err, fmt.Sprintf(form, args...)}
}

// Of returns the outermost hint of err, and whether it has one.
func Of(err error) (string, bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return "", false
	}
	return e.Next, true
}

// Silent returns an error without text that wraps err. Put it at the end of a
// message that already states the cause, as "%w", to make errors.Is match.
func Silent(err error) error { return silent{err} }

type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }
