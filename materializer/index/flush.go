package index

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// flush writes what is pending. What cannot be written stays pending.
func (x *Index) flush(ctx context.Context) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.isDamaged() {
		x.rebuild(ctx)
	}
	defer x.mergeMore(ctx)
	b := x.take()
	if len(b.changes) == 0 && len(b.floors) == 0 {
		return
	}
	err := x.db.write(ctx, b)
	switch {
	case err == nil:
		x.committed(b)
		if x.failure != nil {
			x.setFailure(nil)
			x.cfg.Logger.Info("the directory is written again", "file", x.cfg.Path)
		}
	case isCorrupt(err), isContradiction(err) && x.failure == nil:
		x.setFailure(err) // one rebuild is enough, even if it does not help
		x.report(err)
		x.requeue(b)
		x.rebuild(ctx)
	default:
		x.requeue(b)
		if ctx.Err() != nil {
			return
		}
		if x.failure == nil {
			x.cfg.Logger.Warn("the directory cannot be written; retrying every second", "file", x.cfg.Path, "err", err)
		}
		x.setFailure(err)
	}
}

func (x *Index) setFailure(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failure = err
}

// Err returns why listings and searches lack changes: the last write of the file
// failed, or changes were dropped because too many waited for it. It returns nil if
// neither is so.
func (x *Index) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.failure != nil:
		return fmt.Errorf("the directory %s cannot be written: %w", x.cfg.Path, x.failure)
	case x.dropped:
		return fmt.Errorf("the directory %s lacks changes that were dropped while it could not be written; restart the node", x.cfg.Path)
	}
	return nil
}

// mergeMore removes what is left of erased texts, a step at a time. What fails is
// repeated. x.writing is held.
func (x *Index) mergeMore(ctx context.Context) {
	if err := x.db.mergeMore(ctx); isCorrupt(err) {
		x.report(err)
	}
	if x.db.merging != merged {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.erasing = true
	}
}

// A batch is written at once: changes, the oldest first, and the floors that are
// true after them.
type batch struct {
	ids     []core.SessionID
	changes map[core.SessionID]*change
	floors  map[int]materializer.Floor
	had     func(core.SessionID) progress
	now     map[core.SessionID]progress // filled by the write
}

// take takes what is pending. Seq still finds it until committed or requeue.
func (x *Index) take() batch {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := batch{ids: x.order, changes: x.pending, floors: map[int]materializer.Floor{}, had: x.progressOf, now: map[core.SessionID]progress{}}
	for shard, f := range x.floors {
		if old, ok := x.saved[shard]; !x.dropped && (!ok || old != f) {
			b.floors[shard] = f
		}
	}
	x.inFlight, x.pending, x.order, x.weight = x.pending, map[core.SessionID]*change{}, nil, 0
	x.erasing = false
	return b
}

func (x *Index) committed(b batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.Copy(x.saved, b.floors)
	for id, c := range b.changes {
		seq, known := c.seq()
		if !known {
			continue
		}
		p := b.now[id]
		if p.seq != seq { // not written: the row there has a higher seq
			p = progress{seq: seq}
		}
		x.remember(id, p)
	}
	x.inFlight, x.live, x.flushed = nil, x.db.live, time.Now()
	if len(b.changes) > 0 {
		x.announce()
	}
}

// requeue makes b pending again, without replacing newer changes. If too much is
// pending the rest is dropped, and no floor is written any more: the next start
// reads it from the log.
func (x *Index) requeue(b batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inFlight, x.flushed = nil, time.Now()
	for _, id := range b.ids {
		old := b.changes[id]
		if c := x.pending[id]; c != nil {
			c.forget = c.forget || old.forget
			if c.view == nil && !c.forget && old.view != nil {
				c.view, c.weight = old.view, old.weight
				x.weight += c.weight
			}
			continue
		}
		if x.isFull() {
			x.drop()
			return
		}
		c := x.pendingOf(id)
		*c = *old
		x.weight += c.weight
	}
}

// drop notes that something that was put will not be written by this process. x.mu
// is held.
func (x *Index) drop() {
	if x.dropped {
		return
	}
	x.dropped = true
	if x.going.Err() != nil {
		return // the node is stopping
	}
	x.cfg.Logger.Error("too much is waiting for the directory; once its file can be written again, restart the node", "file", x.cfg.Path)
}

func (x *Index) isDamaged() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.damaged
}

// rebuild creates the file again and marks every shard as lost. x.writing is held.
func (x *Index) rebuild(ctx context.Context) {
	x.file.Lock()
	defer x.file.Unlock()
	x.db.close()
	err := removeFile(x.cfg.Path)
	if err == nil {
		var db *file
		if db, err = openFile(ctx, x.cfg.Path, x.cfg.Log); err == nil {
			x.db = db
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			x.setFailure(err)
			x.cfg.Logger.Error("the directory cannot be rebuilt; retrying every second", "file", x.cfg.Path, "err", err)
		}
		return // still damaged
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.damaged, x.live = false, 0
	for shard := range x.floors {
		x.lost[shard] = true
	}
	clear(x.floors)
	clear(x.saved)
	clear(x.recent[0])
	clear(x.recent[1])
	x.announce()
}
