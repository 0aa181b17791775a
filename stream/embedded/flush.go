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

// A flusher flushes the streams of a server with group commit. A caller that finds no flush
// running runs its own; a goroutine for each stream runs those that callers ask for
// meanwhile. A flush that fails ends all of them.
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
// everything that the server answered before the call. A caller that runs the flush itself
// does not leave before the flush has ended, even if ctx ends.
func (f *flusher) durable(ctx context.Context, stream string, pos uint64) error {
	s, err := f.stream(stream)
	if err != nil {
		return err
	}
	fl, own, err := s.ask(pos)
	if fl == nil || err != nil {
		return err
	}
	if own {
		s.flush(f)
		return fl.err
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

// ask returns the flush that makes pos durable, or nil if pos is durable. own is set if no
// flush runs: the caller must then run this one, without waiting for another goroutine.
func (s *streamFlusher) ask(pos uint64) (fl *flush, own bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fl, err = s.queue.ask(pos); fl == nil || err != nil {
		return nil, false, err
	}
	return fl, s.queue.begin() != nil, nil
}

// run runs the flushes that are asked for while another runs, until the flusher ends, and
// those of an idle stream.
func (f *flusher) run(s *streamFlusher) {
	tick := time.NewTicker(idleFlush)
	defer tick.Stop()
	defer s.close()
	for {
		select {
		case <-s.wake:
			s.mu.Lock()
			fl := s.queue.begin()
			s.mu.Unlock()
			if fl != nil {
				s.flush(f)
			}
		case <-tick.C:
			if _, own, _ := s.ask(0); own && s.files.dirty() { // after a failure there is nothing to do
				s.flush(f)
			} else if own {
				s.end(nil)
			}
		case <-f.stop:
			s.fail(ErrClosed)
			return
		}
	}
}

// flush runs the flush that has begun. Only its caller uses the files.
func (s *streamFlusher) flush(f *flusher) {
	err := s.files.flush()
	if err != nil {
		err = fmt.Errorf("stream %s could not be flushed: %w; fix the disk, and restart the node", s.name, err)
		f.fail(err)
	}
	s.end(err)
}

// end ends the flush that has begun, and wakes the goroutine if another one waits.
func (s *streamFlusher) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.end(err)
	if s.queue.waiting == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// close closes the files after the flush that runs.
func (s *streamFlusher) close() {
	s.mu.Lock()
	fl := s.queue.running
	s.mu.Unlock()
	if fl != nil {
		<-fl.done
	}
	s.files.close()
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
