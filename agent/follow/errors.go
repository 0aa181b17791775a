package follow

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// errChanged says that the log or the file changed in the meantime: examine the
// file again.
var errChanged = errors.New("it changed in the meantime")

// errUnsettled says that the agent may be rewriting the file.
var errUnsettled = errors.New("it is being written")

// A fileError is about one file: other files are not affected, and an immediate
// retry does not help.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// reject stops copying f until it changes, or for a while, and reports it once.
func (fl *Follower) reject(f *file, s stat, kind Kind, err error) error {
	if f.fail(err, s) {
		fl.notify(Notice{Kind: kind, Path: f.path, Session: f.place.Session, Err: err, Text: fmt.Sprintf("%s is not copied: %v", f.path, err)})
	}
	return fileError{err}
}

// classify turns every error that is not for want of a node into a fileError.
func (fl *Follower) classify(f *file, s stat, err error) error {
	switch {
	case isTransient(err), errors.As(err, new(fileError)):
		return err
	case isStopped(err):
		return fl.reject(f, s, Stopped, err)
	}
	return fl.reject(f, s, BadFile, err)
}

func (fl *Follower) readError(f *file, s stat, err error) error {
	if err == nil {
		return nil
	}
	return fl.reject(f, s, BadFile, fmt.Errorf("it cannot be read: %w", err))
}

// isTransient reports whether err is for want of a node, or of an answer.
func isTransient(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrFull) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isStopped reports whether err says that the session accepts nothing.
func isStopped(err error) bool {
	return errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrTooNew) || errors.Is(err, core.ErrCorrupt)
}

// isUnacked reports whether, after err, the request may be stored or may still
// arrive: something was sent, and no node has answered.
func isUnacked(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*client.Error](err); ok {
		return errors.Is(err, core.ErrUncertain)
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return !ok || dial.Op != "dial"
}

// isMoved reports whether err is a conflict with the log, rather than a fence.
func isMoved(err error) bool {
	return errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrFenced)
}

// isStale reports whether err says that the session changed after the request was
// made.
func isStale(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && errors.Is(err, core.ErrConflict) && e.Detail.Line == 0 && e.Detail.Head == "" && e.Detail.Cursor != nil
}

// contradicts reports whether err says that a line differs from the log.
func contradicts(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Detail.Line > 0
}
