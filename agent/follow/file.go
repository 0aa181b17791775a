package follow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

var binaryOrder = binary.LittleEndian

func cmpString(a, b string) int { return cmp.Compare(a, b) }

// A file is one that is followed.
type file struct {
	path string
	root *Root

	mu      lock // held by whoever brings it in
	place   place
	digest  *xxhash.Digest // of the bytes that are in the log; nil where it is not known
	goneAt  time.Time      // when it was first seen to be missing
	late    int            // imports in a row that came after something else
	parted  bool           // its lines got a head of their own, which is to be told
	clashes set            // lines that were told to clash
	proved  time.Time      // when all bytes that are in the log were last compared

	queued bool // guarded by Follower.mu

	// What others may look at while it is brought in.
	show  sync.Mutex
	shown place
	size  int64
	err   error     // why it is not brought in
	retry time.Time // when to try again, where err is not nil and nothing changed
	pause time.Duration
	force bool          // to be compared although nothing seems to have changed
	fence time.Time     // when to fence next, where that was refused
	rests time.Duration // how long that was put off
	quick bool          // it grew, and not all that was there before was looked at
	watch stat          // as it was seen last
}

// A stat is what a file is known by.
type stat struct {
	dev, ino uint64
	size     int64
	mtime    int64 // nanoseconds
	seen     int64 // when it was looked at
	since    int64 // when it was first seen like this; 0 where it was looked at once
}

// nowhere is the stat of a file that is to be looked at again, whatever it is.
func nowhere() stat { return stat{seen: time.Now().UnixNano()} }

// quietFor is how long the file has not changed: by its own time, and where that
// is still to come, as long as it has been seen like this.
func (s stat) quietFor() time.Duration {
	if s.mtime <= s.seen {
		return time.Duration(s.seen - s.mtime)
	}
	if s.since == 0 {
		return 0
	}
	return time.Duration(max(0, s.seen-s.since))
}

// watched is s with the time since when the file has been seen like this.
func (f *file) watched(s stat) stat {
	f.show.Lock()
	defer f.show.Unlock()
	w := f.watch
	s.since = w.since
	if w.dev != s.dev || w.ino != s.ino || w.size != s.size || w.mtime != s.mtime || s.seen < w.since {
		s.since = s.seen // it changed, or the clock was set back
	}
	f.watch = s
	return s
}

// racy is how close to a look a change may come that leaves the file's time as
// it was: clocks of file systems tick.
const racy = int64(2 * time.Second)

// same reports whether the file of s is the one that p is of, unchanged.
func (p *place) same(s stat) bool {
	return p.Session != "" && p.Dev == s.dev && p.Ino == s.ino && p.Size == s.size && p.MTime == s.mtime && p.MTime < p.Seen-racy
}

func (p *place) saw(s stat) {
	p.Dev, p.Ino, p.Size, p.MTime, p.Seen = s.dev, s.ino, s.size, s.mtime, s.seen
}

// inStep reports whether the file needs no look, as far as s tells.
func (f *file) inStep(s stat) bool {
	s = f.watched(s)
	f.show.Lock()
	defer f.show.Unlock()
	switch {
	case f.err != nil:
		return f.size == s.size && f.shown.MTime == s.mtime && time.Now().Before(f.retry)
	case f.force:
		return false
	case f.quick && s.quietFor() > quiet:
		return false
	}
	return f.shown.same(s) && !f.owesFence(&f.shown)
}

// owesFence reports whether something that was sent may still arrive and a fence
// is due that keeps it out. f.show is locked.
func (f *file) owesFence(p *place) bool { return p.Unheard && !time.Now().Before(f.fence) }

// isUnheard is owesFence for whoever brings the file in.
func (f *file) isUnheard() bool {
	f.show.Lock()
	defer f.show.Unlock()
	return f.owesFence(&f.place)
}

// fenced notes whether a fence was put.
func (f *file) fenced(done bool) {
	f.show.Lock()
	defer f.show.Unlock()
	if f.rests = min(max(2*f.rests, time.Minute), time.Hour); done {
		f.rests = 0
	}
	f.fence = time.Now().Add(f.rests)
}

// publish lets others see how far f is.
func (f *file) publish(size int64) {
	f.show.Lock()
	defer f.show.Unlock()
	f.shown, f.size = f.place, size
	f.err, f.pause = nil, 0
}

// sized lets others see how large f is.
func (f *file) sized(size int64) {
	f.show.Lock()
	defer f.show.Unlock()
	f.size = size
}

// failed notes why f is not brought in, and reports whether that is new.
func (f *file) failed(err error, s stat) bool {
	f.show.Lock()
	defer f.show.Unlock()
	fresh := f.err == nil || f.err.Error() != err.Error()
	f.err, f.size = err, s.size
	f.shown.MTime = s.mtime
	f.pause = min(max(2*f.pause, time.Minute), time.Hour)
	f.retry = time.Now().Add(f.pause)
	return fresh
}

func (f *file) status() File {
	f.show.Lock()
	defer f.show.Unlock()
	p := f.shown
	out := File{Path: f.path, Session: p.Session, Dialect: p.Dialect, Head: p.Head, Cursor: p.Cursor, Offset: p.Offset, Waiting: max(0, f.size-p.Offset)}
	if f.err != nil {
		out.Error = f.err.Error()
	}
	return out
}

func (f *file) take() (force bool) {
	f.show.Lock()
	defer f.show.Unlock()
	force, f.force = f.force, false
	return force
}

// quiet is how long a file is left alone before a last line without a newline
// is taken for one that will get none, and settle before lines are believed to
// have left it: agents that rewrite a file in place empty it first.
const (
	quiet  = time.Second
	settle = 100 * time.Millisecond
	// goneFor is how long a file is missing before it is gone: it may be about to
	// be renamed into place.
	goneFor = 2 * time.Second
	// proofAge is how long a file that grows all the time goes without all of it
	// being looked at.
	proofAge = 30 * time.Second
)

// A refusal is an error that is about one file, and that trying again soon does
// not mend.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// sync brings f in step with the log. final takes a last line that lacks its
// newline. again, where it is not 0, is when to look again whatever happens.
// A *refusal is about this file; any other error is for want of a node, and
// nothing is decided.
func (b *Follower) sync(ctx context.Context, f *file, final bool) (again time.Duration, err error) {
	if err := f.mu.lock(ctx); err != nil {
		return 0, err
	}
	defer f.mu.unlock()
	if !b.follows(f) {
		return 0, nil // it was gone, and what is there now is another
	}
	force := f.take()
	defer func() {
		if force && (err != nil || again > goOn) { // of the rest the log was asked, too
			f.show.Lock()
			f.force = true
			f.show.Unlock()
		}
	}()
	before := f.place.Cursor
	for range tries {
		h, s, err := look(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			one, cancel := context.WithTimeout(ctx, patience(0))
			defer cancel()
			return b.missing(one, f)
		}
		if err != nil {
			return 0, b.refuse(f, stat{}, BadFile, fmt.Errorf("it cannot be read: %w", err))
		}
		s = f.watched(s)
		f.goneAt, f.place.Telling = time.Time{}, core.Cursor{}
		one, cancel := context.WithTimeout(ctx, patience(s.size))
		next, err := b.step(one, f, h, s, final, force)
		cancel()
		_ = h.Close()
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			return 0, b.sorted(f, s, err)
		}
		if now := f.place.Cursor; now != before && now != (core.Cursor{}) && s.quietFor() < b.cfg.Idle {
			b.claims.want(ctx, f)
		}
		return next, nil
	}
	return settle, nil // it changes all the time
}

// patience is how long a node has to take a file in. One that takes requests and
// does not answer them counts as away then, and holds nobody up for ever.
func patience(size int64) time.Duration {
	const slowest = 64 << 10 // bytes a second
	return 2*time.Minute + time.Duration(size/slowest)*time.Second
}

// tries bounds how often one look at a file begins anew because something else
// happened in between.
const tries = 5

// errMoved says that the log or the file changed meanwhile.
var errMoved = errors.New("it changed meanwhile")

// step is one look at an open file.
func (b *Follower) step(ctx context.Context, f *file, h *os.File, s stat, final, force bool) (time.Duration, error) {
	p := &f.place
	f.sized(s.size)
	waits := final && p.Offset < s.size
	prove := f.isQuick() && (final || s.quietFor() > quiet || time.Since(f.proved) > proofAge)
	if !force && !waits && !prove && !f.isUnheard() && p.same(s) {
		f.publish(s.size)
		return 0, nil
	}
	if !force && !f.isUnheard() && p.Session != "" && p.Cursor != (core.Cursor{}) && !isDocument(f.path) {
		again, ok, err := b.grow(ctx, f, h, s, final, prove)
		if ok || err != nil {
			return again, err
		}
	}
	return b.merge(ctx, f, h, s, final)
}

// isDocument reports whether the file is one object rather than lines: it is
// looked at as a whole.
func isDocument(path string) bool { return strings.HasSuffix(path, ".json") }

func look(path string) (*os.File, stat, error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, stat{}, err
	}
	info, err := h.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", path)
	}
	if err != nil {
		_ = h.Close()
		return nil, stat{}, err
	}
	return h, statOf(info), nil
}

func statOf(info fs.FileInfo) stat {
	s := stat{size: info.Size(), mtime: info.ModTime().UnixNano(), seen: time.Now().UnixNano()}
	s.dev, s.ino = identity(info)
	return s
}

// isQuick reports whether the file grew and all that was there before was not
// looked at since: an agent may have changed some of it at the same time.
func (f *file) isQuick() bool {
	f.show.Lock()
	defer f.show.Unlock()
	return f.quick
}

// prove notes whether all bytes that are in the log were compared.
func (f *file) prove(all bool) {
	if all {
		f.proved = time.Now()
	}
	f.place.Quick = !all
	f.show.Lock()
	defer f.show.Unlock()
	f.quick = !all
}

func (f *file) session() core.SessionID {
	f.show.Lock()
	defer f.show.Unlock()
	return f.shown.Session
}

// refuse gives up f until it changes, or for a while, and tells it once.
func (b *Follower) refuse(f *file, s stat, kind Kind, err error) error {
	if f.failed(err, s) {
		b.notify(Notice{Kind: kind, Path: f.path, Session: f.place.Session, Err: err, Text: fmt.Sprintf("%s is not brought in: %v", f.path, err)})
	}
	return refusal{err}
}

// sorted makes what is not for want of a node f's own: other files go on.
func (b *Follower) sorted(f *file, s stat, err error) error {
	switch {
	case transient(err), errors.As(err, new(refusal)):
		return err
	case stops(err):
		return b.refuse(f, s, Stopped, err)
	}
	return b.refuse(f, s, BadFile, err)
}

// transient reports whether err is for want of a node, or of an answer.
func transient(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrFull) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// save remembers f's place.
func (b *Follower) save(f *file, s stat) {
	f.place.Path = f.path
	f.place.saw(s)
	b.remember(f.place)
	f.publish(s.size)
}

func (b *Follower) remember(p place) {
	if err := b.memory.save(p); err != nil {
		b.cfg.Logger.Warn("what is remembered of a file cannot be written", "path", p.Path, "err", err)
	}
}

// wholeLines cuts data behind its last line that is complete. whole also takes a
// last line that lacks its newline and is a whole JSON object. rest is what is
// left, without blanks.
func wholeLines(data []byte, whole bool) (lines, rest []byte) {
	n := bytes.LastIndexByte(data, '\n') + 1
	rest = bytes.TrimSpace(data[n:])
	if whole && isObject(rest) {
		return data, nil
	}
	return data[:n], rest
}

func isObject(b []byte) bool {
	return len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}' && json.Valid(b)
}
