package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/opencode"
)

// databaseOf returns the path of the database in which the sessions of a root are,
// or "" if they are files.
func databaseOf(r *Root) string {
	if r.Dialect != (opencode.Dialect{}).Name() {
		return ""
	}
	return filepath.Clean(cmp.Or(r.Home, r.Path))
}

// changedEvents handles a change of a file, and reports whether it is part of a
// database.
func (s *scanner) changedEvents(path string) (is bool) {
	for i := range s.fl.cfg.Roots {
		r := &s.fl.cfg.Roots[i]
		if r.events == nil || strings.TrimSuffix(path, "-wal") != r.events.Path() {
			continue
		}
		is = true
		s.scanEvents(r)
	}
	return is
}

// scanEvents finds the sessions in a database that are new or have new events.
func (s *scanner) scanEvents(r *Root) {
	ctx := context.Background() // eventdb limits the time
	last, err := r.events.Sessions(ctx)
	s.noteEvents(r.events.Path(), err)
	if err != nil {
		return // it may be created, or become readable
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		path := filepath.Join(r.events.Path(), id)
		if !r.contains(path) {
			continue
		}
		s.fl.mu.Lock()
		f := s.fl.files[path]
		s.fl.mu.Unlock()
		if f == nil && !s.isWhole(ctx, r, id) {
			continue
		}
		s.fl.mu.Lock()
		if f = s.fl.files[path]; f == nil {
			f = s.fl.newFile(path, r)
		}
		s.fl.mu.Unlock()
		c, ok := f.source.(*eventCopy)
		if !ok {
			continue
		}
		if c.see(last[id]); s.isDue(f) {
			s.fl.enqueue(f)
		}
	}
	for _, f := range s.fl.known() {
		if c, ok := f.source.(*eventCopy); ok && f.root == r && !hasKey(last, c.id) {
			c.see(-1)
			s.fl.enqueue(f)
		}
	}
}

func hasKey(m map[string]int64, key string) bool { _, ok := m[key]; return ok }

// isWhole reports whether the database has a session from its beginning on. The
// user is told once of those that it has not.
func (s *scanner) isWhole(ctx context.Context, r *Root, id string) bool {
	path := filepath.Join(r.events.Path(), id)
	s.mu.Lock()
	partial := s.partial[path]
	s.mu.Unlock()
	if partial {
		return false
	}
	first, err := r.events.Events(ctx, id, 0, 1)
	if err != nil || len(first) == 0 {
		return false // it is looked at again
	}
	if _, err := (opencode.Dialect{}).Begin(first[0].JSON); err == nil {
		return true
	}
	s.mu.Lock()
	s.partial[path] = true
	s.mu.Unlock()
	s.fl.notify(Notice{Kind: BadFile, Path: path, Text: fmt.Sprintf(
		"%s is not copied: opencode has no events of its beginning, because it imported the session, or an older version created it; store it with: opencode export %s > FILE; sessctl import FILE", path, id)})
	return false
}

// noteEvents reports once that a database cannot be read.
func (s *scanner) noteEvents(path string, err error) {
	text := ""
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		text = err.Error()
	}
	s.mu.Lock()
	fresh := s.badEvents[path] != text
	s.badEvents[path] = text
	s.mu.Unlock()
	if fresh && text != "" {
		s.fl.notify(Notice{Kind: BadFile, Path: path, Err: err, Text: fmt.Sprintf("the sessions in %s are not copied: %v", path, err)})
	}
}
