package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// idleFlush is how often a stream is flushed for which no caller waits, if something was
// written to it. Without it, the links would keep the files that JetStream removed.
const idleFlush = time.Second

// A flusher flushes the streams of a server with group commit: one goroutine for each
// stream. A flush that fails ends all of them.
type flusher struct {
	dir    string
	logger *slog.Logger
	sync   func(*os.File) error

	mu      sync.Mutex
	streams map[string]*streamFlusher
	failed  error
	stop    chan struct{}
	stopped sync.WaitGroup
}

type streamFlusher struct {
	name  string
	files streamFiles
	wake  chan struct{}

	mu    sync.Mutex
	queue flushQueue
}

// startFlusher flushes and links the streams that the server has read.
func startFlusher(cfg Config) (*flusher, error) {
	f := &flusher{dir: cfg.Dir, logger: cfg.Logger, sync: cfg.sync, streams: map[string]*streamFlusher{}, stop: make(chan struct{})}
	names, err := streamNames(cfg.Dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := f.durable(context.Background(), name, 0); err != nil {
			f.end()
			return nil, err
		}
	}
	return f, nil
}

// durable waits until the stream's messages up to pos are on disk; 0 stands for
// everything that the server answered before the call.
func (f *flusher) durable(ctx context.Context, stream string, pos uint64) error {
	s, err := f.stream(stream)
	if err != nil {
		return err
	}
	s.mu.Lock()
	fl, err := s.queue.ask(pos)
	s.mu.Unlock()
	if fl == nil || err != nil {
		return err
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
	select {
	case <-fl.done:
		return fl.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the flush of stream %s: %w", stream, ctx.Err())
	}
}

func (f *flusher) stream(name string) (*streamFlusher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return nil, f.failed
	}
	s := f.streams[name]
	if s == nil {
		s = &streamFlusher{
			name: name, wake: make(chan struct{}, 1),
			files: streamFiles{dir: filepath.Join(streamsDir(f.dir), name), links: linksOf(f.dir, name), sync: f.sync},
		}
		f.streams[name] = s
		f.stopped.Go(func() { f.run(s) })
	}
	return s, nil
}

// run flushes a stream until the flusher ends.
func (f *flusher) run(s *streamFlusher) {
	tick := time.NewTicker(idleFlush)
	defer tick.Stop()
	defer s.files.close()
	for {
		select {
		case <-s.wake:
		case <-tick.C:
			if !s.files.dirty() {
				continue
			}
			s.mu.Lock()
			_, _ = s.queue.ask(0) // after a failure there is nothing to do
			s.mu.Unlock()
		case <-f.stop:
			s.fail(ErrClosed)
			return
		}
		for s.flush(f) {
		}
	}
}

// flush runs the flush that is asked for. It reports whether there was one.
func (s *streamFlusher) flush(f *flusher) bool {
	s.mu.Lock()
	fl := s.queue.begin()
	s.mu.Unlock()
	if fl == nil {
		return false
	}
	err := s.files.flush()
	if err != nil {
		err = fmt.Errorf("stream %s could not be flushed: %w; fix the disk, and restart the node", s.name, err)
		f.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.end(err)
	return true
}

func (s *streamFlusher) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.fail(err)
}

// fail ends the service of all streams.
func (f *flusher) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return
	}
	f.failed = err
	f.logger.Error("nothing is acknowledged until a restart", "err", err)
	for _, s := range f.streams {
		s.fail(err)
	}
}

// check returns why nothing can be flushed, or nil.
func (f *flusher) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// close flushes everything a last time, after the server has stopped.
func (f *flusher) close() error {
	f.mu.Lock()
	var names []string
	for name := range f.streams {
		names = append(names, name)
	}
	f.mu.Unlock()
	for _, name := range names {
		if err := f.durable(context.Background(), name, 0); err != nil {
			f.end()
			return err
		}
	}
	f.end()
	return markClean(f.dir)
}

// end stops the goroutines.
func (f *flusher) end() {
	f.mu.Lock()
	if f.failed == nil {
		f.failed = ErrClosed
	}
	f.mu.Unlock()
	close(f.stop)
	f.stopped.Wait()
}
