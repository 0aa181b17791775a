package materializer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/blobstore"
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
	directory atomic.Pointer[Rows]
	away      atomic.Int64  // when the bucket did not answer, in nanoseconds
	surveyed  atomic.Bool   // all snapshots were compared with the log
	wake      chan struct{} // has an element if there is something to heal

	noting sync.Mutex // held while a loss is noted, so that the bucket has the latest note

	mu     sync.Mutex
	losses map[core.SessionID]*report.Loss
}

// NewGuard returns a Guard of log. It knows of nothing until it is used by a
// Materializer.
func NewGuard(log *stream.Log, snapshots *Snapshots, logger *slog.Logger) *Guard {
	return &Guard{log: log, snapshots: snapshots, logger: cmp.Or(logger, slog.Default()), wake: make(chan struct{}, 1), losses: map[core.SessionID]*report.Loss{}}
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
// log, it compares those of this session.
func (g *Guard) Opened(ctx context.Context, id core.SessionID, end uint64) {
	rows := g.directory.Load()
	if rows == nil {
		return
	}
	suspect := (*rows).Seq(id) > end
	if !suspect && !g.surveyed.Load() {
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

const (
	// keptTimeout is how long the bucket may take to list a session's snapshots.
	keptTimeout = 2 * time.Second
	// awayFor is how long the bucket is not asked after it did not answer, so that
	// requests that do not need it do not wait for it.
	awayFor = 30 * time.Second
)

// kept returns the snapshots of a session. It does not wait for a bucket that does not
// answer.
func (g *Guard) kept(ctx context.Context, id core.SessionID) ([]blobstore.Info, error) {
	if time.Since(time.Unix(0, g.away.Load())) < awayFor {
		return nil, fmt.Errorf("snapshots of session %s: the object store does not answer: %w", id, core.ErrUnavailable)
	}
	asking, cancel := context.WithTimeout(ctx, keptTimeout)
	defer cancel()
	all, err := g.snapshots.Kept(asking, g.log.Name(), id)
	if err != nil && ctx.Err() == nil {
		g.away.Store(time.Now().UnixNano())
		err = fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return all, err
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

// Examine compares a session in the log with what proves which records it had, and
// notes or forgets its loss.
func (g *Guard) Examine(ctx context.Context, id core.SessionID) error {
	old := g.known(id)
	found, err := g.prove(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case found == nil && old != nil && !old.Accepted:
		end, err := g.endOf(ctx, id)
		if err == nil && (end.Kind == core.KindErase || end.Seq >= old.Proved) {
			return g.forget(ctx, id)
		}
		return err
	case found == nil, old != nil && found.Proved <= old.Proved:
		return nil
	}
	found.Found = time.Now().UTC()
	g.logger.Error("the log lost acknowledged records of a session; look with: sessctl doctor", "session", id, "loss", found.String())
	if old != nil {
		found.End = min(found.End, old.End)
	}
	return g.note(ctx, found)
}

// prove returns what the log lost of a session, nil if nothing proves a loss. The
// witnesses are read before the log, which therefore has all that they prove unless
// it lost it. A leader that lacks it is replaced first.
func (g *Guard) prove(ctx context.Context, id core.SessionID) (*report.Loss, error) {
	w, err := g.witnesses(ctx, id)
	if err != nil {
		return nil, err
	}
	for replaced := false; ; replaced = true {
		end, err := g.endOf(ctx, id)
		if err != nil {
			return nil, err
		}
		l := w.loss(id, end.Seq)
		if l == nil || end.Kind == core.KindErase {
			return nil, nil
		}
		if !replaced && g.log.ReplaceLeader(ctx, id) {
			continue
		}
		err = g.log.Prove(ctx, id, end.Pos)
		if errors.Is(err, core.ErrConflict) {
			return nil, nil // the leader lagged, or the session grew
		}
		if err != nil && !errors.Is(err, core.ErrFull) {
			return nil, err
		}
		return l, nil
	}
}

// endOf returns the last record of a session, a zero one if the log has none. If it
// cannot be read, it returns the error: then the session is known to be corrupt.
func (g *Guard) endOf(ctx context.Context, id core.SessionID) (*core.Record, error) {
	end, err := g.log.LastLink(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return &core.Record{}, nil
	}
	return end, err
}

func (g *Guard) witnesses(ctx context.Context, id core.SessionID) (w witnesses, err error) {
	if rows := g.directory.Load(); rows != nil {
		if w.row, _, err = (*rows).Row(ctx, id); err != nil {
			return w, err
		}
	}
	w.snapshots, err = g.kept(ctx, id)
	if errors.Is(err, core.ErrUnavailable) && w.row.Seq > 0 {
		err = nil // the row alone may prove it
	}
	return w, err
}

// Hold returns why no blob may be deleted: the snapshot that a lost session is
// restored from may reference it. nil if there is no loss that is not accepted.
func (g *Guard) Hold(ctx context.Context) error {
	if err := g.load(ctx); err != nil {
		return err
	}
	if n := len(g.Losses()); n > 0 {
		return fmt.Errorf("the log has lost records of %d sessions, which may need any blob (see: sessctl doctor): %w", n, core.ErrConflict)
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

// note keeps a loss, in the bucket too if that answers.
func (g *Guard) note(ctx context.Context, l *report.Loss) error {
	g.noting.Lock()
	defer g.noting.Unlock()
	g.keep(l)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := BlobError(g.snapshots.bucket.Put(ctx, g.key(l.Session), bytes.NewReader(b), int64(len(b)))); err != nil {
		return fmt.Errorf("note the loss of session %s: %w", l.Session, err)
	}
	return nil
}

// keep stores a loss in memory. What an operator has accepted stays accepted, although
// a caller may have begun to heal it before.
func (g *Guard) keep(l *report.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.losses[l.Session]; old != nil && old.Accepted && l.Proved <= old.Proved {
		l.Accepted = true
	}
	g.losses[l.Session] = l
}

// forget ends a loss that is healed.
func (g *Guard) forget(ctx context.Context, id core.SessionID) error {
	if err := BlobError(g.snapshots.bucket.Delete(ctx, g.key(id))); err != nil {
		return err
	}
	g.mu.Lock()
	delete(g.losses, id)
	g.mu.Unlock()
	g.logger.Info("the log has all records of a session again that it had lost", "session", id)
	return nil
}

// lossPrefix is the prefix of the keys of losses.
const lossPrefix = "losses/"

func (g *Guard) key(id core.SessionID) string {
	return fmt.Sprintf("%s%s/%s.json", lossPrefix, g.log.Name(), id)
}

// maxLoss limits the bytes of a loss in the bucket.
const maxLoss = 64 << 10

// load reads the losses that other processes noted.
func (g *Guard) load(ctx context.Context) error {
	prefix := lossPrefix + g.log.Name() + "/"
	for info, err := range g.snapshots.bucket.List(ctx, prefix) {
		if err != nil {
			return BlobError(err)
		}
		id := core.SessionID(strings.TrimSuffix(strings.TrimPrefix(info.Key, prefix), ".json"))
		l, err := g.read(ctx, info.Key)
		if errors.Is(err, core.ErrNotFound) {
			continue // healed meanwhile
		}
		if err != nil || l.Session != id {
			g.logger.Warn("the note of a loss cannot be read", "object", info.Key, "err", err)
			continue
		}
		g.keep(l)
	}
	return nil
}

func (g *Guard) read(ctx context.Context, key string) (*report.Loss, error) {
	r, err := g.snapshots.bucket.Get(ctx, key)
	if err != nil {
		return nil, BlobError(err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxLoss))
	if err != nil {
		return nil, BlobError(err)
	}
	l := &report.Loss{}
	return l, json.Unmarshal(b, l)
}
