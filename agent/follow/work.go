package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/api"
)

// workers is how many files are brought in at the same time.
const workers = 4

// touch has f looked at soon.
func (b *Follower) touch(f *file) {
	b.mu.Lock()
	if !f.queued {
		f.queued = true
		b.dirty = append(b.dirty, f)
	}
	b.mu.Unlock()
	b.kick()
}

func (b *Follower) kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// next takes a file that is to be looked at. It returns nil when ctx ends.
func (b *Follower) next(ctx context.Context) *file {
	for ctx.Err() == nil {
		b.mu.Lock()
		if len(b.dirty) > 0 {
			f := b.dirty[0]
			b.dirty[0] = nil
			b.dirty = b.dirty[1:]
			f.queued = false
			more := len(b.dirty) > 0
			b.mu.Unlock()
			if more {
				b.kick()
			}
			return f
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

// work brings in files until ctx ends.
func (b *Follower) work(ctx context.Context) {
	for b.gate.pass(ctx) {
		f := b.next(ctx)
		if f == nil {
			return
		}
		again, err := b.sync(ctx, f, false)
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil && !errors.As(err, new(refusal)):
			b.shut(err)
			b.touch(f)
		case again > 0:
			time.AfterFunc(again, func() { b.touch(f) })
		}
	}
}

// shut notes that no node takes anything, and tells it once.
func (b *Follower) shut(err error) {
	if b.gate.shut() {
		b.notify(Notice{Kind: Away, Err: err, Text: fmt.Sprintf("the log takes nothing now, lines wait in their files and go up later: %v", err)})
	}
}

// flush brings in files, each until it is in step.
func (b *Follower) flush(ctx context.Context, files []*file) error {
	var wg sync.WaitGroup
	var next, left atomic.Int64
	left.Store(int64(len(files)))
	var mu sync.Mutex
	var first *file
	var cause error
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				err := b.flushFile(ctx, files[i])
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
	return fmt.Errorf("%s not in the log yet, %s is one: %w", count(int(left.Load()), "file"), first.path, cause)
}

// flushFile brings in one file. The error is ctx's, and why it was not brought
// in before.
func (b *Follower) flushFile(ctx context.Context, f *file) error {
	for {
		again, err := b.sync(ctx, f, true)
		switch {
		case err == nil && again == 0, errors.As(err, new(refusal)), err == nil && f.isMissing(ctx):
			return nil
		case err != nil && ctx.Err() == nil:
			b.shut(err)
			again = firstPause
		}
		sleep(ctx, again)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// proveEvery is how often the log is asked whether it has what is remembered.
const proveEvery = time.Hour

// audit compares, once when a node answers and then now and then, what is
// remembered of the files with a listing of the log: a session that the log has
// not, or has less of, is looked at as a whole. So a log that was begun anew, or
// lost something, gets it again.
func (b *Follower) audit(ctx context.Context) {
	for {
		wait := proveEvery
		one, cancel := context.WithTimeout(ctx, patience(0))
		if err := b.check(one); err != nil {
			wait = lastPause
		}
		cancel()
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-b.scan.proof:
			t.Stop()
		}
	}
}

func (b *Follower) check(ctx context.Context) error {
	b.mu.Lock()
	var known []*file
	for _, f := range b.files {
		known = append(known, f)
	}
	b.mu.Unlock()
	behind := map[string]*file{}
	at := map[string]uint64{}
	for _, f := range known {
		f.show.Lock()
		p := f.shown
		f.show.Unlock()
		// The listing may lag behind what has only just been stored.
		if p.Session != "" && time.Since(time.Unix(0, p.Seen)) > time.Minute {
			behind[f.path], at[f.path] = f, p.Cursor.Seq
		}
	}
	if len(behind) == 0 {
		return nil
	}
	seqs := map[string]uint64{}
	for after := ""; ; {
		page, err := b.cfg.Node.List(ctx, api.ListOptions{After: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, row := range page.Sessions {
			seqs[string(row.ID)] = row.Seq
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for path, f := range behind {
		if seq, has := seqs[string(f.session())]; has && seq >= at[path] {
			continue
		}
		f.show.Lock()
		f.force = true
		f.show.Unlock()
		b.touch(f)
	}
	return nil
}
