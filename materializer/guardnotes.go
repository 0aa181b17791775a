package materializer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

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

// keep stores a loss in memory, unless a larger one is known. What an operator has
// accepted stays accepted, although a caller may have begun to heal it before.
func (g *Guard) keep(l *report.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.losses[l.Session]
	if old != nil && l.Proved < old.Proved {
		return
	}
	if old != nil && old.Accepted && l.Proved <= old.Proved {
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
		if g.known(id) == nil && !l.Accepted {
			g.logger.Error(lostRecords, "session", id, "loss", l.String())
		}
		g.keep(l)
	}
	return nil
}

// noted returns the loss of a session that this process or another one noted, nil if
// there is none.
func (g *Guard) noted(ctx context.Context, id core.SessionID) (l *report.Loss, err error) {
	if l = g.known(id); l != nil {
		return l, nil
	}
	err = g.ask(ctx, id, func(ctx context.Context) error {
		l, err = g.read(ctx, g.key(id))
		if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) || err == nil && l.Session != id {
			l, err = nil, nil
		}
		return err
	})
	if l != nil && err == nil {
		g.keep(l)
	}
	return l, err
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
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("%w: %w", err, core.ErrCorrupt)
	}
	return l, nil
}
