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

// A scanner finds session files and learns of their changes: from the system
// where that tells them, and by looking at all of them now and then.
type scanner struct {
	b     *Follower
	proof chan struct{} // has room for one: ask the log what it has

	mu      sync.Mutex
	watcher *fsnotify.Watcher // nil while nothing is watched
	watched map[string]bool   // directories
	blind   bool              // some directory is not watched, which was told
}

// blindRescan is how often the roots are looked at where the system does not
// tell of all changes.
const blindRescan = 5 * time.Second

func newScanner(b *Follower) *scanner {
	return &scanner{b: b, proof: make(chan struct{}, 1), watched: map[string]bool{}}
}

// prove has the log asked whether it has what is remembered.
func (s *scanner) prove() {
	select {
	case s.proof <- struct{}{}:
	default:
	}
}

// run looks and listens until ctx ends.
func (s *scanner) run(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.unseen("", err)
	} else {
		defer s.close(w)
		s.mu.Lock()
		s.watcher = w
		s.mu.Unlock()
	}
	s.look()
	for {
		every := s.b.cfg.Rescan
		if s.isBlind() {
			every = min(every, blindRescan)
		}
		t := time.NewTimer(every)
		if !s.listen(ctx, w, t.C) {
			t.Stop()
			return
		}
		t.Stop()
		s.look()
	}
}

// listen takes what the system tells until it is time to look. It returns false
// when ctx ends.
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
			s.heard(e)
		case err := <-errs:
			s.b.cfg.Logger.Warn("the system has more changes than it tells", "err", err)
			return true // look at all
		}
	}
}

func (s *scanner) close(w *fsnotify.Watcher) {
	s.mu.Lock()
	s.watcher, s.watched = nil, map[string]bool{}
	s.mu.Unlock()
	_ = w.Close()
}

// heard takes one event.
func (s *scanner) heard(e fsnotify.Event) {
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		s.mu.Lock()
		delete(s.watched, e.Name) // it is no longer there, or elsewhere
		s.mu.Unlock()
	}
	if root := s.b.rootOf(e.Name); root != nil {
		s.changed(e.Name, root)
		return
	}
	if e.Has(fsnotify.Create) && isDir(e.Name) {
		s.entered(e.Name)
	}
}

// changed has a file looked at that changed a moment ago.
func (s *scanner) changed(path string, root *Root) {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		s.below(root, path)
		return
	}
	b := s.b
	b.mu.Lock()
	f := b.files[path]
	if f == nil && err == nil && info.Mode().IsRegular() {
		f = b.newFile(path, root)
	}
	b.mu.Unlock()
	if f != nil {
		b.touch(f)
	}
}

// entered looks into a directory that has just appeared: it may be in a root, or
// on the way to one.
func (s *scanner) entered(dir string) {
	for i := range s.b.cfg.Roots {
		r := &s.b.cfg.Roots[i]
		switch {
		case dir == r.Path || strings.HasPrefix(dir, r.Path+string(filepath.Separator)):
			s.below(r, dir)
			return
		case strings.HasPrefix(r.Path, dir+string(filepath.Separator)):
			s.root(r)
		}
	}
}

// look looks at all roots, and for files that are no longer there.
func (s *scanner) look() {
	for i := range s.b.cfg.Roots {
		s.root(&s.b.cfg.Roots[i])
	}
	b := s.b
	b.mu.Lock()
	files := make([]*file, 0, len(b.files))
	for _, f := range b.files {
		files = append(files, f)
	}
	b.mu.Unlock()
	for _, f := range files {
		info, err := os.Lstat(f.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !f.inStep(statOf(info)) {
			b.touch(f)
		}
	}
}

// root watches a root and finds the files in it.
func (s *scanner) root(r *Root) {
	info, err := os.Stat(r.Path)
	switch {
	case err != nil: // it may appear
		s.watch(existing(filepath.Dir(r.Path)))
	case info.IsDir():
		s.below(r, r.Path)
	default:
		s.watch(filepath.Dir(r.Path))
		s.found(r.Path, r, info)
	}
}

// existing is the directory at path, or the nearest above it that is there.
func existing(path string) string {
	for !isDir(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

// below watches dir and the directories in it, and finds the files there.
func (s *scanner) below(r *Root, dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) {
				s.unseen(path, err)
			}
			return nil
		case path != r.Path && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
			s.watch(path)
		case d.Type().IsRegular() && IsSessionName(path):
			s.b.mu.Lock()
			known := s.b.files[path] != nil
			s.b.mu.Unlock()
			if known {
				return nil // look does it
			}
			if info, err := d.Info(); err == nil {
				s.found(path, r, info)
			}
		}
		return nil
	})
}

// found follows a file, unless it was left alone since long ago and is to be.
func (s *scanner) found(path string, r *Root, info fs.FileInfo) {
	b := s.b
	b.mu.Lock()
	f := b.files[path]
	if f == nil {
		if info.ModTime().Before(r.Since) {
			b.mu.Unlock()
			return
		}
		f = b.newFile(path, r)
	}
	b.mu.Unlock()
	if !f.inStep(statOf(info)) {
		b.touch(f)
	}
}

// newFile makes a file that is followed from now on. b.mu is held.
func (b *Follower) newFile(path string, r *Root) *file {
	f := &file{path: path, root: r, mu: newLock(), place: b.memory.at(path)}
	f.place.Left = false
	f.shown, f.quick = f.place, f.place.Quick
	b.files[path] = f
	return f
}

// watch has the system tell of changes in dir.
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
			s.unseen(dir, err)
		}
	}
}

func (s *scanner) isBlind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blind
}

// unseen notes that changes in dir are found by looking only, and tells it once.
func (s *scanner) unseen(dir string, err error) {
	s.mu.Lock()
	told := s.blind
	s.blind = true
	s.mu.Unlock()
	if told {
		return
	}
	s.b.notify(Notice{Kind: Unseen, Path: dir, Err: err, Text: fmt.Sprintf(
		"the system does not tell of changes in %s (%v), so they are looked for every %s; on Linux see fs.inotify.max_user_watches", dir, err, blindRescan)})
}
