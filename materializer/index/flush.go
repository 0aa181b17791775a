package index

import (
	"context"
	"maps"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// flush writes what waits. What cannot be written goes on waiting.
func (x *Index) flush(ctx context.Context) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.isDamaged() {
		x.rebuild(ctx)
	}
	b := x.take()
	if len(b.changes) == 0 && len(b.floors) == 0 {
		return
	}
	err := x.db.write(ctx, b)
	switch {
	case err == nil:
		x.wrote(b)
		if x.failing {
			x.failing = false
			x.cfg.Logger.Info("the directory is written again", "file", x.cfg.Path)
		}
	case isCorrupt(err):
		x.report(err)
		x.putBack(b)
		x.rebuild(ctx)
	default:
		x.putBack(b)
		if !x.failing && ctx.Err() == nil {
			x.failing = true
			x.cfg.Logger.Warn("the directory is not written; trying again every second", "file", x.cfg.Path, "err", err)
		}
	}
}

// A batch is what is written at once: changes, the oldest first, and the floors
// that speak for them.
type batch struct {
	ids     []core.SessionID
	changes map[core.SessionID]*change
	floors  map[int]materializer.Floor
}

// take takes what waits. It stays known to Seq until wrote or putBack.
func (x *Index) take() batch {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := batch{ids: x.order, changes: x.pending, floors: map[int]materializer.Floor{}}
	for shard, f := range x.floors {
		if old, ok := x.saved[shard]; !x.dropped && (!ok || old != f) {
			b.floors[shard] = f
		}
	}
	x.flight, x.pending, x.order, x.weight = x.pending, map[core.SessionID]*change{}, nil, 0
	return b
}

func (x *Index) wrote(b batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.Copy(x.saved, b.floors)
	for id, c := range b.changes {
		if seq, known := c.seq(); known {
			x.remember(id, seq)
		}
	}
	x.flight, x.live = nil, x.db.live
	if len(b.changes) > 0 {
		close(x.changed)
		x.changed = make(chan struct{})
	}
}

// putBack has b wait again, behind what came since. Beyond what may wait it is
// dropped, and so are the floors that would speak for it: the next start reads it
// from the log.
func (x *Index) putBack(b batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flight = nil
	for _, id := range b.ids {
		old := b.changes[id]
		if c := x.pending[id]; c != nil {
			c.forget = c.forget || old.forget
			if c.view == nil && !c.forget && old.view != nil {
				c.view = old.view
				x.weight += old.view.Row.Size
			}
			continue
		}
		if x.isFull() {
			x.drop()
			return
		}
		c := x.at(id)
		*c = *old
		if c.view != nil {
			x.weight += c.view.Row.Size
		}
	}
}

// drop notes that something that was put will not be written by this run. x.mu
// is held.
func (x *Index) drop() {
	if x.dropped {
		return
	}
	x.dropped = true
	x.cfg.Logger.Error("the directory cannot keep what it is told; once the file can be written again, start the node anew", "file", x.cfg.Path)
}

func (x *Index) isDamaged() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.damaged
}

// rebuild makes the file anew and says that every shard is lost. x.writing is
// held.
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
			x.cfg.Logger.Error("the directory cannot be made again; trying again every second", "file", x.cfg.Path, "err", err)
		}
		return // it is still damaged
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
	close(x.changed)
	x.changed = make(chan struct{})
}
