package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// unwatchedRescan is how often the roots are scanned if the system does not report
// all changes.
const unwatchedRescan = 5 * time.Second

// A scanner finds session files and their changes: from the system's events, and
// by scanning all roots periodically.
type scanner struct {
	fl     *Follower
	audits chan struct{} // capacity 1: an audit is requested

	mu        sync.Mutex
	watcher   *fsnotify.Watcher // nil while nothing is watched
	watched   map[string]bool   // directories
	unwatched bool              // a directory cannot be watched; this was reported
	groups    map[*Root]*grouping
	partial   map[string]bool   // sessions in databases whose beginning is missing
	badEvents map[string]string // databases that cannot be read, and why; this was reported
}

func newScanner(fl *Follower) *scanner {
	return &scanner{fl: fl, audits: make(chan struct{}, 1), watched: map[string]bool{}, groups: map[*Root]*grouping{}, partial: map[string]bool{}, badEvents: map[string]string{}}
}

// requestAudit requests an audit.
func (s *scanner) requestAudit() {
	select {
	case s.audits <- struct{}{}:
	default:
	}
}

// run scans and listens until ctx ends.
func (s *scanner) run(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.noteUnwatched("", err)
	} else {
		defer s.close(w)
		s.mu.Lock()
		s.watcher = w
		s.mu.Unlock()
	}
	s.scan()
	for {
		interval := s.fl.cfg.Rescan
		if s.hasUnwatched() {
			interval = min(interval, unwatchedRescan)
		}
		t := time.NewTimer(interval)
		if !s.listen(ctx, w, t.C) {
			t.Stop()
			return
		}
		t.Stop()
		s.scan()
	}
}

// listen handles events until it is time for a scan. It returns false when ctx
// ends.
func (s *scanner) listen(ctx context.Context, w *fsnotify.Watcher, rescan <-chan time.Time) bool {
	var events chan fsnotify.Event
	var errs chan error
	if w != nil {
		events, errs = w.Events, w.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-rescan:
			return true
		case e := <-events:
			s.handle(e)
		case err := <-errs:
			s.fl.cfg.Logger.Warn("the system dropped file events; scanning all roots", "err", err)
			return true
		}
	}
}

func (s *scanner) close(w *fsnotify.Watcher) {
	s.mu.Lock()
	s.watcher, s.watched = nil, map[string]bool{}
	s.mu.Unlock()
	_ = w.Close()
}

func (s *scanner) handle(e fsnotify.Event) {
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		s.mu.Lock()
		delete(s.watched, e.Name)
		s.mu.Unlock()
	}
	if s.changedEvents(e.Name) {
		return
	}
	if root := s.fl.rootOf(e.Name); root != nil {
		s.changed(e.Name, root)
		return
	}
	if e.Has(fsnotify.Create) && isDir(e.Name) {
		s.created(e.Name)
	}
}

// changed schedules a file that has just changed.
func (s *scanner) changed(path string, root *Root) {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		s.walk(root, path)
		return
	}
	if root.rules != nil {
		s.changedPart(path, root)
		return
	}
	fl := s.fl
	fl.mu.Lock()
	f := fl.files[path]
	if f == nil && err == nil && info.Mode().IsRegular() {
		f = fl.newFile(path, root)
	}
	fl.mu.Unlock()
	if f != nil {
		fl.enqueue(f)
	}
}

// created handles a new directory, which may be inside a root or above one.
func (s *scanner) created(dir string) {
	for i := range s.fl.cfg.Roots {
		r := &s.fl.cfg.Roots[i]
		switch {
		case dir == r.Path || strings.HasPrefix(dir, r.Path+string(filepath.Separator)):
			s.walk(r, dir)
			return
		case strings.HasPrefix(r.Path, dir+string(filepath.Separator)):
			s.scanRoot(r)
		}
	}
}

// scan scans all roots, and finds files that no longer exist.
func (s *scanner) scan() {
	for i := range s.fl.cfg.Roots {
		s.scanRoot(&s.fl.cfg.Roots[i])
	}
	for _, f := range s.fl.known() {
		if s.isDue(f) {
			s.fl.enqueue(f)
		}
	}
}

// isDue reports whether a file was removed, or must be examined.
func (s *scanner) isDue(f *file) bool {
	if f.source != nil && f.source.isDue() {
		return true
	}
	info, err := os.Lstat(f.content())
	if f.source == nil && errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && f.isDue(statOf(info))
}

func (s *scanner) scanRoot(r *Root) {
	info, err := os.Stat(r.Path)
	switch {
	case r.events != nil:
		s.watch(nearestDir(filepath.Dir(r.events.Path())))
		s.scanEvents(r)
	case r.rules != nil && isDir(r.home()):
		s.group(r)
	case err != nil: // it may be created
		s.watch(nearestDir(filepath.Dir(r.Path)))
	case info.IsDir():
		s.walk(r, r.Path)
	default:
		s.watch(filepath.Dir(r.Path))
		s.found(r.Path, r, info)
	}
}

// nearestDir returns path, or the nearest directory above it that exists.
func nearestDir(path string) string {
	for !isDir(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

// walk watches dir and its subdirectories, and finds the files in them.
func (s *scanner) walk(r *Root, dir string) {
	if r.rules != nil {
		s.group(r)
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) {
				s.noteUnwatched(path, err)
			}
			return nil
		case path != r.Path && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
			s.watch(path)
		case d.Type().IsRegular() && IsSessionName(path):
			s.fl.mu.Lock()
			known := s.fl.files[path] != nil
			s.fl.mu.Unlock()
			if known {
				return nil // scan checks it
			}
			if info, err := d.Info(); err == nil {
				s.found(path, r, info)
			}
		}
		return nil
	})
}

// found starts to follow a file, unless it was last modified before the root's
// Since.
func (s *scanner) found(path string, r *Root, info fs.FileInfo) {
	fl := s.fl
	fl.mu.Lock()
	f := fl.files[path]
	if f == nil {
		if info.ModTime().Before(r.Since) {
			fl.mu.Unlock()
			return
		}
		f = fl.newFile(path, r)
	}
	fl.mu.Unlock()
	if s.isDue(f) {
		fl.enqueue(f)
	}
}

// watch requests events for a directory.
func (s *scanner) watch(dir string) {
	s.mu.Lock()
	w := s.watcher
	if w == nil || s.watched[dir] {
		s.mu.Unlock()
		return
	}
	s.watched[dir] = true
	s.mu.Unlock()
	if err := w.Add(dir); err != nil {
		s.mu.Lock()
		delete(s.watched, dir)
		s.mu.Unlock()
		if !errors.Is(err, fs.ErrNotExist) {
			s.noteUnwatched(dir, err)
		}
	}
}

func (s *scanner) hasUnwatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unwatched
}

// noteUnwatched records that changes in dir are found by scanning only, and
// reports it once.
func (s *scanner) noteUnwatched(dir string, err error) {
	s.mu.Lock()
	reported := s.unwatched
	s.unwatched = true
	s.mu.Unlock()
	if reported {
		return
	}
	s.fl.notify(Notice{Kind: Unwatched, Path: dir, Err: err, Text: fmt.Sprintf(
		"the system does not report changes in %s (%v), so it is scanned every %s; on Linux see fs.inotify.max_user_watches", dir, err, unwatchedRescan)})
}
