package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// checkInterval bounds how often files are checked for changes.
const checkInterval = time.Second

// A reloaded is a value loaded from files, and loaded again when they change. If
// that fails, it keeps the previous value.
type reloaded[T any] struct {
	files  []string
	load   func() (T, error)
	logger *slog.Logger

	mu      sync.Mutex
	checked time.Time
	loaded  []stamp // of the files that value was loaded from
	value   T
}

// A stamp detects changes of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// newReloaded loads the files for the first time, which must succeed.
func newReloaded[T any](logger *slog.Logger, load func() (T, error), files ...string) (*reloaded[T], error) {
	r := &reloaded[T]{files: files, load: load, logger: logger, checked: time.Now()}
	var err error
	if r.loaded, err = stampsOf(files); err != nil {
		return nil, err
	}
	r.value, err = load()
	return r, err
}

// get returns the value, at most checkInterval old.
func (r *reloaded[T]) get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.checked) >= checkInterval {
		r.checked = now
		r.check()
	}
	return r.value
}

// check loads files that have changed. It discards the value if they change during
// the load: a certificate and its key are not written in one step.
func (r *reloaded[T]) check() {
	before, err := stampsOf(r.files)
	if err == nil && slices.Equal(before, r.loaded) {
		return
	}
	var value T
	if err == nil {
		value, err = r.load()
	}
	if err != nil {
		r.logger.Warn("changed files are unusable; keeping the previous content", "files", r.files, "err", err)
		return
	}
	if after, err := stampsOf(r.files); err != nil || !slices.Equal(before, after) {
		return // the next check retries
	}
	r.value, r.loaded = value, before
	r.logger.Info("reloaded changed files", "files", r.files)
}

func stampsOf(files []string) ([]stamp, error) {
	out := make([]stamp, len(files))
	for i, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("file: %w", err)
		}
		out[i] = stamp{info.ModTime(), info.Size()}
	}
	return out, nil
}
