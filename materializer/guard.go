package materializer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/stream"
)

// A Guard knows the sessions of which the log has lost records, as snapshots and rows
// prove. It implements engine.Witness: such a session accepts no writes until it has
// all that is proved again, or an operator accepts the loss. A loss is an object in
// the bucket, so other nodes and later processes know it. Its methods may be called
// from several goroutines.
type Guard struct {
	log       *stream.Log
	snapshots *Snapshots
	logger    *slog.Logger
	directory atomic.Pointer[RowReader]
	away      atomic.Int64  // when the bucket did not answer, in nanoseconds
	surveyed  atomic.Bool   // all snapshots were compared with the log
	wake      chan struct{} // has an element if there is something to heal

	noting sync.Mutex // held while a loss is noted, so that the bucket has the latest note

	mu      sync.Mutex
	losses  map[core.SessionID]*report.Loss
	corrupt map[core.SessionID]string // why, see SetCorrupt
}

// NewGuard returns a Guard of log. It knows of nothing until it is used by a
// Materializer.
func NewGuard(log *stream.Log, snapshots *Snapshots, logger *slog.Logger) *Guard {
	return &Guard{log: log, snapshots: snapshots, logger: cmp.Or(logger, slog.Default()), wake: make(chan struct{}, 1), losses: map[core.SessionID]*report.Loss{}, corrupt: map[core.SessionID]string{}}
}

// Losses returns the losses that are neither healed nor accepted, by session.
func (g *Guard) Losses() []report.Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := []report.Loss{}
	for _, id := range slices.Sorted(maps.Keys(g.losses)) {
		if l := g.losses[id]; !l.Accepted {
			out = append(out, *l)
		}
	}
	return out
}

// Loss returns the loss of a session, nil if there is none or it is accepted.
func (g *Guard) Loss(id core.SessionID) *report.Loss {
	if l := g.known(id); l != nil && !l.Accepted {
		return l
	}
	return nil
}

func (g *Guard) known(id core.SessionID) *report.Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.losses[id]; l != nil {
		again := *l
		return &again
	}
	return nil
}

// Opened implements engine.Witness. Until all snapshots have been compared with the
// log, it compares those of this session, and reads whether another process noted its
// loss.
func (g *Guard) Opened(ctx context.Context, id core.SessionID, end uint64) {
	rows := g.directory.Load()
	if rows == nil {
		return
	}
	suspect := (*rows).Seq(id) > end
	if !suspect && !g.surveyed.Load() {
		_, _ = g.noted(ctx, id)
		kept, err := g.kept(ctx, id)
		w := witnesses{snapshots: kept}
		suspect = err == nil && w.loss(id, end) != nil
	}
	if suspect {
		if err := g.Examine(ctx, id); err != nil {
			g.logger.Warn("cannot find out whether the log lost records of a session", "session", id, "err", err)
		}
	}
}

// Refuse implements engine.Witness.
func (g *Guard) Refuse(ctx context.Context, id core.SessionID) error {
	if g.Loss(id) == nil {
		return nil
	}
	if err := g.Examine(ctx, id); err != nil { // another process may have healed it
		return err
	}
	if l := g.Loss(id); l != nil {
		return l.Err()
	}
	return nil
}

// Hold returns why no blob may be deleted: the snapshot that a lost session is
// restored from may reference it. nil if there is no loss that is not accepted.
func (g *Guard) Hold(ctx context.Context) error {
	if err := g.load(ctx); err != nil {
		return err
	}
	if n := len(g.Losses()); n > 0 {
		return fmt.Errorf("the log has lost records of %d sessions, so no blob can be deleted; see: sessctl doctor: %w", n, core.ErrConflict)
	}
	return nil
}

// Accept ends the protection of a session: an operator has decided that its lost
// records will not come back. It returns core.ErrNotFound if there is no loss.
func (g *Guard) Accept(ctx context.Context, id core.SessionID) error {
	l := g.Loss(id)
	if l == nil {
		return fmt.Errorf("session %s: nothing proves a loss: %w", id, core.ErrNotFound)
	}
	l.Accepted = true
	return g.note(ctx, l)
}
