package gc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// marks are the blobs that sessions name.
type marks struct {
	sessions, erased int
	named            map[core.Digest]*mark
}

type mark struct {
	sessions int64
	sure     bool // a session cannot do without it; else it may be mere words
	there    bool // met by the sweep
}

// mark reads every session that the log has.
func (c *Collector) mark(ctx context.Context) (*marks, error) {
	m := &marks{named: map[core.Digest]*mark{}}
	for shard := range c.cfg.Log.Shards() {
		st, err := c.cfg.Log.State(ctx, shard)
		if err != nil {
			return nil, err
		}
		ids, err := c.cfg.Log.SessionsUpTo(ctx, shard, st.Last)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if err := c.markSession(ctx, m, id); err != nil {
				return nil, fmt.Errorf("session %s cannot be read, so no blob is touched (look with: sessctl verify %s): %w", id, id, err)
			}
		}
	}
	return m, nil
}

// markSession marks what a session names: all that its records say that the log
// still has, also those before its snapshot, and that snapshot.
func (c *Collector) markSession(ctx context.Context, m *marks, id core.SessionID) error {
	s, err := c.cfg.Sessions.Open(ctx, id)
	if errors.Is(err, core.ErrDeleted) { // erased: one in the trash can be opened
		m.erased++
		return nil
	}
	if err != nil {
		return err
	}
	n := names{}
	var end core.Pos
	err = s.View(func(st *core.State) error {
		if st.Alien != "" {
			return fmt.Errorf("it has a record of kind %q: %w", st.Alien, core.ErrTooNew)
		}
		end = st.Pos
		n.state(st)
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.markRecords(ctx, n, id, end); err != nil {
		return err
	}
	m.sessions++
	for d, sure := range n {
		k := m.named[d]
		if k == nil {
			k = &mark{}
			m.named[d] = k
		}
		k.sessions++
		k.sure = k.sure || sure
	}
	return nil
}

// arrival is how long a copy of the log may take to have a record that another
// copy has.
const arrival = time.Minute

// markRecords marks what the session's records up to end name.
func (c *Collector) markRecords(ctx context.Context, n names, id core.SessionID, end core.Pos) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(arrival, func() {
		cancel(fmt.Errorf("its records do not arrive: %w", core.ErrUnavailable))
	})
	defer late.Stop()
	for at := core.Pos(0); at < end; {
		for z, err := range c.cfg.Log.Scan(ctx, id, at, end) {
			if err == nil {
				err = n.record(ctx, z)
			}
			if err != nil {
				return errors.Join(context.Cause(ctx), err)
			}
			at = z.Pos
			late.Reset(arrival)
		}
		if at < end && pause(ctx) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// pause waits a moment before a copy that lags is asked again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// names are the blobs that a session names, and whether it needs them.
type names map[core.Digest]bool

func (n names) need(d core.Digest) {
	if !d.IsZero() {
		n[d] = true
	}
}

// text takes in whatever looks like a blob's name: an agent may refer to images
// of its own in members that no image of the log would be in.
func (n names) text(b []byte) {
	for d := range stream.Mentions(b) {
		n[d] = n[d] || false
	}
}

func (n names) state(st *core.State) {
	n.need(st.Origin.Original)
	n.text(st.Header.Line)
	for i := range st.Entries {
		n.text(st.Entries[i].Line)
	}
	for _, d := range st.Blobs() {
		n.need(d)
	}
}

// record takes in a record: its body, as the blob that it is, and in words; the
// manifest of a checkpoint. A body that is gone names nothing: a session that can
// be read does not need it.
func (n names) record(ctx context.Context, z *stream.Lazy) error {
	if d := z.Spill(); !d.IsZero() {
		n[d] = n[d] || false
	}
	body, err := z.Body(ctx)
	if errors.Is(err, core.ErrCorrupt) && !z.Spill().IsZero() {
		return nil
	}
	if err != nil {
		return err
	}
	n.text(body)
	if z.Kind != core.KindCheckpoint {
		return nil
	}
	r := z.Record
	r.Body = body
	manifest, err := core.ReadManifest(&r)
	if err != nil {
		return err
	}
	n.old(manifest)
	return nil
}

// old takes in a manifest, which may not be the latest.
func (n names) old(m *core.Manifest) {
	more := names{}
	for _, d := range m.Blobs {
		more[d] = false
	}
	if !m.Origin.Original.IsZero() {
		more[m.Origin.Original] = false
	}
	for d := range maps.Keys(more) {
		n[d] = n[d] || false
	}
}
