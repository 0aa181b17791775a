package gc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
)

// marks are the blobs that sessions reference.
type marks struct {
	sessions, erased int
	named            map[core.Digest]*mark
}

type mark struct {
	sessions int64
	sure     bool // a session needs it; otherwise a text only looks like its name
	there    bool // found by the sweep
}

// mark reads every session of the log.
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
				return nil, fmt.Errorf("session %s cannot be read, so no blob was collected (check it with: sessctl verify %s): %w", id, id, err)
			}
		}
	}
	return m, nil
}

// markSession marks what a session references: its records in the log, including
// those before its snapshot, and that snapshot.
func (c *Collector) markSession(ctx context.Context, m *marks, id core.SessionID) error {
	s, err := c.cfg.Sessions.Open(ctx, id)
	if errors.Is(err, core.ErrDeleted) { // erased: a session in the trash can be opened
		m.erased++
		return nil
	}
	if err != nil {
		return err
	}
	n := names{}
	var end core.Pos
	err = s.View(func(st *core.State) error {
		if st.UnknownKind != "" {
			return fmt.Errorf("it has a record of kind %q: %w", st.UnknownKind, core.ErrTooNew)
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

// If the log's replica lacks records, it is asked again this often, with this
// pause: for a minute.
const (
	lagTries = 3000
	lagPause = 20 * time.Millisecond
)

// markRecords marks what the session's records up to end reference.
func (c *Collector) markRecords(ctx context.Context, n names, id core.SessionID, end core.Pos) error {
	at, tries := core.Pos(0), 0
	for at < end {
		before := at
		for z, err := range c.cfg.Log.Scan(ctx, id, at, end) {
			if err == nil {
				err = n.record(ctx, z)
			}
			if err != nil {
				return err
			}
			at, tries = z.Pos, 0
		}
		if at > before {
			continue
		}
		if tries++; tries > lagTries {
			return fmt.Errorf("timed out reading records after %d: %w", at, core.ErrUnavailable)
		}
		if err := retry.Wait(ctx, lagPause); err != nil {
			return err
		}
	}
	return nil
}

// names are the blobs that a session references, and whether it needs them.
type names map[core.Digest]bool

func (n names) need(d core.Digest) {
	if !d.IsZero() {
		n[d] = true
	}
}

func (n names) mention(d core.Digest) {
	if !d.IsZero() && !n[d] {
		n[d] = false
	}
}

// text adds everything in b that looks like the name of a blob: an agent may
// reference images in fields that the log does not know.
func (n names) text(b []byte) {
	for d := range engine.BlobRefs(b) {
		n.mention(d)
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

// record adds a record: its body as a blob, the text of its body, and the manifest
// of a checkpoint. A missing body references nothing. If a snapshot covers it, the
// session can be read without it, but not as it was before.
func (n names) record(ctx context.Context, z *storage.Lazy) error {
	n.need(z.Packed.Spill())
	body, err := z.Body(ctx)
	if errors.Is(err, core.ErrCorrupt) && !z.Packed.Spill().IsZero() {
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
	manifest, err := r.Manifest()
	if err != nil {
		return err
	}
	n.mention(manifest.Origin.Original)
	for _, d := range manifest.Blobs { // of a snapshot that may not be the latest
		n.mention(d)
	}
	return nil
}
