package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often it is looked at most whether files have changed.
const lookEvery = time.Second

// A fresh is what was made of some files, made anew when they change. While they
// cannot be read, or do not fit together, it is what it was.
type fresh[T any] struct {
	files  []string
	load   func() (T, error)
	logger *slog.Logger

	mu     sync.Mutex
	looked time.Time
	seen   []stamp // of the files that value was made of
	value  T
}

// A stamp tells a file from what it was before.
type stamp struct {
	modified time.Time
	size     int64
}

// newFresh loads the files for the first time, which must go well.
func newFresh[T any](logger *slog.Logger, load func() (T, error), files ...string) (*fresh[T], error) {
	f := &fresh[T]{files: files, load: load, logger: logger, looked: time.Now()}
	var err error
	if f.seen, err = stampsOf(files); err != nil {
		return nil, err
	}
	f.value, err = load()
	return f, err
}

// get is what the files say now, or said not long ago.
func (f *fresh[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= lookEvery {
		f.looked = now
		f.look()
	}
	return f.value
}

// look loads files that have changed. What was loaded counts only if they are
// the same after it: a certificate and its key are not written in one step.
func (f *fresh[T]) look() {
	before, err := stampsOf(f.files)
	if err == nil && slices.Equal(before, f.seen) {
		return
	}
	var value T
	if err == nil {
		value, err = f.load()
	}
	if err == nil {
		after, lost := stampsOf(f.files)
		if lost != nil || !slices.Equal(before, after) {
			return // soon again
		}
		f.value, f.seen = value, before
		f.logger.Info("files were read anew", "files", f.files)
		return
	}
	f.logger.Warn("files have changed and are of no use; what they said before holds", "files", f.files, "err", err)
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
