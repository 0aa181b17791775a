package materializer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/spans"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// maxWriting limits concurrent snapshots.
const maxWriting = 4

// draftFactor is how many bytes a snapshot in progress takes for each of its session:
// the plain bytes, the packed ones, and those unpacked for comparison.
const draftFactor = 3

// retryAfter is the delay after a failed checkpoint.
const retryAfter = 20 * time.Second

// consider schedules a checkpoint if one is due and none is queued or running. That of a
// session with orphans is made by every node that sees them: the owner may be the node
// that wrote them, which does not see that they are orphans until another record follows.
func (m *Materializer) consider(s *engine.Session, idle time.Duration) {
	due := false
	_ = s.View(func(st *core.State) error {
		due = m.cfg.Policy.due(st, idle)
		return nil
	})
	orphans := s.Orphans() > 0
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[s.ID()]
	if t == nil || t.busy || !orphans && !(due && m.owns(t.shard)) || time.Now().Before(t.retry) {
		return
	}
	t.busy = true
	m.enqueue(dueSession{s.ID(), idle, t.trace, orphans})
}

// checkpoint writes a session's snapshot and the record that names it, unless
// another node has done so meanwhile.
func (m *Materializer) checkpoint(ctx context.Context, id core.SessionID, idle time.Duration) error {
	s, err := m.cfg.Cache.Fresh(ctx, id)
	if err != nil {
		return err
	}
	due := false
	_ = s.View(func(st *core.State) error {
		due = m.cfg.Policy.due(st, idle)
		return nil
	})
	if s.Orphans() > 0 {
		if err := s.RecoverOrphans(ctx); err != nil {
			return fmt.Errorf("recover orphan lines: %w", err)
		}
		due = true
	}
	if !due {
		return nil
	}
	_, err = m.Checkpoint(ctx, s)
	return err
}

// Checkpoint writes a snapshot of s as it is in memory and the record that names
// it, and returns the manifest. If the latest checkpoint covers as much, nothing is
// stored. If its snapshot is byte-identical, the record names that one.
func (m *Materializer) Checkpoint(ctx context.Context, s *engine.Session) (man *core.Manifest, err error) {
	for range checkpointTries {
		if man, err = m.checkpointOnce(ctx, s); !errors.Is(err, engine.ErrStaleDraft) {
			return man, err
		}
	}
	return nil, fmt.Errorf("%w: %w", err, core.ErrUnavailable)
}

// checkpointTries limits the attempts at a checkpoint that other writers overtake.
const checkpointTries = 5

func (m *Materializer) checkpointOnce(ctx context.Context, s *engine.Session) (_ *core.Manifest, err error) {
	began := time.Now()
	defer func() { m.cfg.Checkpointed(time.Since(began), err) }()
	ctx, span := m.cfg.Tracer.Start(ctx, "checkpoint", trace.WithAttributes(spans.Session(s.ID())))
	defer func() { spans.End(span, err) }()
	select {
	case m.writing <- struct{}{}:
		defer func() { <-m.writing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("snapshot of session %s: %w: %w", s.ID(), ctx.Err(), core.ErrUnavailable)
	}
	lease := m.cfg.Cache.memory.Lease()
	defer lease.Release()
	if err := lease.Grow(ctx, draftFactor*s.Size()); err != nil {
		return nil, fmt.Errorf("snapshot of session %s: %w", s.ID(), err)
	}
	d := s.Draft(func(seq uint64, sum core.Digest) string {
		return SnapshotKey(m.cfg.Log.Name(), s.ID(), seq, sum)
	})
	span.SetAttributes(attribute.String("sess.cursor", core.CursorOf(d.Manifest.Seq, d.Manifest.Chain).String()), attribute.Int("sess.bytes", len(d.Plain)))
	if err := m.keep(ctx, d); err != nil {
		return nil, fmt.Errorf("snapshot of session %s: %w", s.ID(), err)
	}
	if err := s.Checkpoint(ctx, d); err != nil {
		// If brokers flush late they may still lose the erase record.
		if errors.Is(err, core.ErrDeleted) && m.cfg.Sessions.FlushEvery() == 0 {
			m.withdraw(ctx, d)
		}
		return nil, fmt.Errorf("checkpoint of session %s: %w", s.ID(), err)
	}
	if m.isForbidden(s, d) {
		m.withdraw(ctx, d)
	}
	m.covered(s.ID(), began)
	return d.Manifest, nil
}

// covered notes that a snapshot covers what the session had at that time.
func (m *Materializer) covered(id core.SessionID, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.work[id]; t != nil {
		t.since, t.trace = at, ""
	}
}

// isForbidden reports whether d's snapshot holds lines that were redacted while it
// was made, and a later snapshot superseded it: then it is deleted at once. Another
// node's checkpoint may name any other superseded snapshot, and if brokers flush
// late, this one too. Those are collected later.
func (m *Materializer) isForbidden(s *engine.Session, d *engine.Draft) (forbidden bool) {
	own := SnapshotKey(m.cfg.Log.Name(), s.ID(), d.Manifest.Seq, d.Manifest.SHA256)
	if m.cfg.Sessions.FlushEvery() > 0 || d.Manifest.Object != own {
		return false
	}
	_ = s.View(func(st *core.State) error {
		isNamed := slices.Contains(st.Snapshot.Objects(), written(d.Manifest))
		forbidden = len(st.Redacted) > len(d.Manifest.Redacted) && !isNamed && st.Checkpointed > d.Manifest.Seq
		return nil
	})
	return forbidden
}

// written returns the key of the object written for m, "" if there is none.
func written(m *core.Manifest) string {
	if len(m.Parts) == 0 {
		return m.Object
	}
	return m.Parts[len(m.Parts)-1].Object
}

// withdraw removes a snapshot that no checkpoint names: its content may have been
// erased or redacted while it was made.
func (m *Materializer) withdraw(ctx context.Context, d *engine.Draft) {
	key := written(d.Manifest)
	if key == "" {
		return
	}
	if err := m.cfg.Snapshots.Remove(ctx, key); err != nil {
		m.cfg.Logger.Warn("superseded snapshot could not be deleted", "object", key, "err", err)
	}
}

// Writing returns how many snapshots are in progress, and the limit.
func (m *Materializer) Writing() (now, limit int) { return len(m.writing), cap(m.writing) }
