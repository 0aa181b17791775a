package follow

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

// A file is a followed file.
type file struct {
	path   string
	root   *Root
	source source // of the copy that is followed instead of the file; else nil

	mu           lock // held while it is copied; guards the fields below
	place        place
	digest       *xxhash.Digest // of the bytes that are in the log; nil if unknown
	missingSince time.Time
	lateImports  int       // imports in a row that were rejected because the session changed
	turnEnded    bool      // by the last lines that were appended
	diverged     bool      // its lines got a separate head, which is not reported yet
	conflicts    lineSet   // lines whose conflict was reported
	verified     time.Time // when all bytes that are in the log were last read

	queued bool // guarded by Follower.mu

	// What others may see while the file is copied.
	show       sync.Mutex
	shown      place
	size       int64
	err        error     // why it is not copied
	retry      time.Time // with err: when to try again if nothing has changed
	errBackoff backoff
	force      bool      // compare it even if it seems unchanged
	fenceAt    time.Time // when to fence next, after a rejected fence
	fenceDelay backoff
	unverified bool // it grew, and its earlier bytes were not all read again
	last       stat // as it was last seen
}

// A source is what a session that is not in one file is copied from, into a file
// of ours that is followed like any session file. The copy is derived: if it is
// lost, it is made again.
type source interface {
	// copyPath returns the path of the copy.
	copyPath() string
	// isDue reports whether the copy may lack something.
	isDue() bool
	// update brings the copy in step. With final, what may still grow counts as
	// complete. If again is not 0, it must be called again after that time. The error
	// wraps fs.ErrNotExist if there is no such session.
	update(final bool) (again time.Duration, err error)
	// close saves what the next process needs.
	close()
}

// content returns the path of the file that is followed: f's own, or its copy.
func (f *file) content() string { return cmp.Or(f.copy(), f.path) }

func (f *file) copy() string {
	if f.source == nil {
		return ""
	}
	return f.source.copyPath()
}

// open brings the copy in step, if f has one, and opens the file that is followed.
// If again is not 0, f must be examined again after that time.
func (f *file) open(final bool) (h *os.File, s stat, again time.Duration, err error) {
	if f.source != nil {
		if again, err = f.source.update(final); err != nil {
			return nil, s, again, err
		}
	}
	h, s, err = openFile(f.content())
	return h, s, again, err
}

// observe returns s with the time since when the file has been seen like this.
func (f *file) observe(s stat) stat {
	f.show.Lock()
	defer f.show.Unlock()
	s = s.after(f.last)
	f.last = s
	return s
}

// isDue reports whether the file must be examined, as far as s tells.
func (f *file) isDue(s stat) bool {
	s = f.observe(s)
	f.show.Lock()
	defer f.show.Unlock()
	if f.err != nil {
		return f.size != s.size || f.shown.MTime != s.mtime || !time.Now().Before(f.retry)
	}
	return isDue(f.shown, observation{stat: s, force: f.force, unacked: f.fenceDue(&f.shown), unverified: f.unverified})
}

// fenceDue reports whether a request may still arrive and a fence is due. f.show is
// locked.
func (f *file) fenceDue(p *place) bool { return p.Unacked && !time.Now().Before(f.fenceAt) }

// needsFence is fenceDue for the owner of f.mu.
func (f *file) needsFence() bool {
	f.show.Lock()
	defer f.show.Unlock()
	return f.fenceDue(&f.place)
}

// noteFence records whether a fence was stored.
func (f *file) noteFence(done bool) {
	f.show.Lock()
	defer f.show.Unlock()
	f.fenceDelay = f.fenceDelay.next()
	if done {
		f.fenceDelay = 0
	}
	f.fenceAt = time.Now().Add(time.Duration(f.fenceDelay))
}

// publish shows others the place of f, without an error.
func (f *file) publish(size int64) {
	f.show.Lock()
	defer f.show.Unlock()
	f.shown, f.size = f.place, size
	f.err, f.errBackoff = nil, 0
}

func (f *file) setSize(size int64) {
	f.show.Lock()
	defer f.show.Unlock()
	f.size = size
}

// fail records why f is not copied, and reports whether that is new.
func (f *file) fail(err error, s stat) bool {
	f.show.Lock()
	defer f.show.Unlock()
	fresh := f.err == nil || f.err.Error() != err.Error()
	f.err, f.size = err, s.size
	f.shown.MTime = s.mtime
	f.errBackoff = f.errBackoff.next()
	f.retry = time.Now().Add(time.Duration(f.errBackoff))
	return fresh
}

func (f *file) status() File {
	f.show.Lock()
	defer f.show.Unlock()
	p := f.shown
	out := File{Path: f.path, Copy: f.copy(), Session: p.Session, Dialect: p.Dialect, Head: p.Head, Cursor: p.Cursor, Offset: p.Offset, Waiting: max(0, f.size-p.Offset)}
	if f.err != nil {
		out.Error = f.err.Error()
	}
	return out
}

func (f *file) shownPlace() place {
	f.show.Lock()
	defer f.show.Unlock()
	return f.shown
}

func (f *file) session() core.SessionID { return f.shownPlace().Session }

// forceCompare makes the next examination compare the file.
func (f *file) forceCompare() {
	f.show.Lock()
	defer f.show.Unlock()
	f.force = true
}

func (f *file) takeForce() (force bool) {
	f.show.Lock()
	defer f.show.Unlock()
	force, f.force = f.force, false
	return force
}

func (f *file) isUnverified() bool {
	f.show.Lock()
	defer f.show.Unlock()
	return f.unverified
}

// noteVerified records whether all bytes that are in the log were read again: an
// agent may have changed some of them while it added others.
func (f *file) noteVerified(all bool) {
	if all {
		f.verified = time.Now()
	}
	f.place.Quick = !all
	f.show.Lock()
	defer f.show.Unlock()
	f.unverified = !all
}

// isMissing reports whether f does not exist. It waits for the lock until ctx ends.
func (f *file) isMissing(ctx context.Context) bool {
	if f.mu.lock(ctx) != nil {
		return false
	}
	defer f.mu.unlock()
	return !f.missingSince.IsZero()
}
