package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/internal/retry"
)

// workers is how many files are copied concurrently.
const workers = 4

// enqueue schedules f to be examined.
func (fl *Follower) enqueue(f *file) {
	fl.mu.Lock()
	if !f.queued {
		f.queued = true
		fl.queue = append(fl.queue, f)
	}
	fl.mu.Unlock()
	fl.wakeWorker()
}

func (fl *Follower) wakeWorker() {
	select {
	case fl.wake <- struct{}{}:
	default:
	}
}

// dequeue waits for a file to examine. It returns nil when ctx ends.
func (fl *Follower) dequeue(ctx context.Context) *file {
	for ctx.Err() == nil {
		fl.mu.Lock()
		if len(fl.queue) > 0 {
			f := fl.queue[0]
			fl.queue[0] = nil
			fl.queue = fl.queue[1:]
			f.queued = false
			more := len(fl.queue) > 0
			fl.mu.Unlock()
			if more {
				fl.wakeWorker()
			}
			return f
		}
		fl.mu.Unlock()
		select {
		case <-fl.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

// work copies files until ctx ends.
func (fl *Follower) work(ctx context.Context) {
	for fl.breaker.wait(ctx) {
		f := fl.dequeue(ctx)
		if f == nil {
			return
		}
		again, err := fl.sync(ctx, f, false)
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil && !errors.As(err, new(fileError)):
			fl.noteAway(err)
			fl.enqueue(f)
		case again > 0:
			time.AfterFunc(again, func() { fl.enqueue(f) })
		}
	}
}

// noteAway records that no node accepts lines, and reports it once.
func (fl *Follower) noteAway(err error) {
	if fl.breaker.fail() {
		fl.notify(Notice{Kind: Away, Err: err, Text: fmt.Sprintf("no node accepts lines now; lines wait in their files and are copied later: %v", err)})
	}
}

// noteBack records that a node accepted something.
func (fl *Follower) noteBack() {
	if fl.breaker.succeed() {
		fl.notify(Notice{Kind: Back, Text: "a node answers again; waiting lines are copied now"})
		fl.scan.requestAudit()
	}
}

// flush copies files, each until it is in step.
func (fl *Follower) flush(ctx context.Context, files []*file) error {
	var wg sync.WaitGroup
	var next, left atomic.Int64
	left.Store(int64(len(files)))
	var mu sync.Mutex
	var first *file
	var cause error
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				err := fl.flushFile(ctx, files[i])
				if err == nil {
					left.Add(-1)
					continue
				}
				mu.Lock()
				if first == nil {
					first, cause = files[i], err
				}
				mu.Unlock()
				return
			}
		})
	}
	wg.Wait()
	if first == nil {
		return nil
	}
	if n := left.Load(); n > 1 {
		return fmt.Errorf("%d files are not in the log yet, such as %s: %w", n, first.path, cause)
	}
	return fmt.Errorf("file %s is not in the log yet: %w", first.path, cause)
}

// flushFile copies one file. The error is ctx's, joined with the last failure.
func (fl *Follower) flushFile(ctx context.Context, f *file) error {
	for {
		again, err := fl.sync(ctx, f, true)
		switch {
		case err == nil && again == 0, errors.As(err, new(fileError)), err == nil && f.isMissing(ctx):
			return nil
		case err != nil && ctx.Err() == nil:
			fl.noteAway(err)
			again = minPause
		}
		_ = retry.Wait(ctx, again)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}
