package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// redactTries limits the attempts at a checkpoint that other writers overtake.
const redactTries = 10

// Redact replaces the content of a session's entries. It stores a record of the
// redaction, then a snapshot with the new lines, and then removes older snapshots
// and the records that the snapshot covers. It returns core.ErrHeld while the
// session is held. After any other error, call it again to complete the redaction.
func (r *Remover) Redact(ctx context.Context, id core.SessionID, q engine.Redaction) (*report.Redacted, error) {
	s, err := r.Cache.Fresh(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.before("record"); err != nil {
		return nil, err
	}
	if err := s.Redact(ctx, q); err != nil {
		return nil, err
	}
	at := s.Cursor()
	m, err := r.coverDurably(ctx, s, q.IDs)
	if err != nil {
		return nil, err
	}
	forks, err := r.Forks(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &report.Redacted{
		Session: id, Log: r.Log.Name(), Cursor: at, Entries: q.IDs, SHA256: m.SHA256, Object: m.Object, Forks: forks,
	}
	if out.Removed.Snapshots, err = r.removeSnapshots(ctx, id, func(key string) bool { return older(key, m) }); err != nil {
		return nil, err
	}
	if err := r.before("records"); err != nil {
		return nil, err
	}
	upTo, err := r.coveredBy(ctx, id)
	if err != nil {
		return nil, err
	}
	if out.Removed.Records, err = r.Log.Forget(ctx, id, upTo); err != nil {
		return nil, err
	}
	if err := r.before("rows"); err != nil {
		return nil, err
	}
	// The session in memory still has the old lines.
	r.Cache.Forget(id)
	out.Removed.Rows = r.Materializer.CatchUp(ctx) == nil
	out.Remains = remains(&report.Found{Forks: out.Forks})
	return out, nil
}

// coverDurably is cover, verified again after the brokers have flushed: they may
// lose a checkpoint, but not the removal of what it covers.
func (r *Remover) coverDurably(ctx context.Context, s *engine.Session, ids []string) (*core.Manifest, error) {
	late := r.Sessions.FlushEvery() > 0
	for flushed := !late; ; flushed = true {
		m, wrote, err := r.cover(ctx, s, ids)
		if err != nil || flushed && (!wrote || !late) {
			return m, err
		}
		if err := r.flushed(ctx, time.Now()); err != nil {
			return nil, err
		}
	}
}

// cover ensures that the latest checkpoint has ids as redacted, and returns its
// manifest and whether it stored one.
func (r *Remover) cover(ctx context.Context, s *engine.Session, ids []string) (m *core.Manifest, wrote bool, err error) {
	for range redactTries {
		base, err := r.base(ctx, s.ID())
		if err != nil {
			return nil, wrote, err
		}
		if m, err := manifestOf(base); err != nil || m != nil && knows(m, ids) {
			return m, wrote, err
		}
		if err := r.before("checkpoint"); err != nil {
			return nil, wrote, err
		}
		if err := s.Refresh(ctx); err != nil {
			return nil, wrote, err
		}
		if _, err := r.Materializer.Checkpoint(ctx, s); err != nil {
			return nil, wrote, err
		}
		wrote = true
	}
	return nil, wrote, fmt.Errorf("session %s: no checkpoint covers the redaction yet: repeat the request: %w", s.ID(), core.ErrUnavailable)
}

// manifestOf returns the manifest in a base, nil for an open record.
func manifestOf(base *core.Record) (*core.Manifest, error) {
	if base.Kind != core.KindCheckpoint {
		return nil, nil
	}
	return base.Manifest()
}

func knows(m *core.Manifest, ids []string) bool {
	for _, id := range ids {
		if !slices.Contains(m.Redacted, id) {
			return false
		}
	}
	return true
}

// base returns the session's latest checkpoint, or its open record.
func (r *Remover) base(ctx context.Context, id core.SessionID) (*core.Record, error) {
	last, err := r.Log.Last(ctx, id)
	if err != nil || last.Kind == core.KindCheckpoint || last.Kind == core.KindOpen {
		return last, err
	}
	return r.Log.At(ctx, id, last.Base)
}

// coveredBy returns up to where the latest checkpoint covers the session's records.
func (r *Remover) coveredBy(ctx context.Context, id core.SessionID) (core.Pos, error) {
	base, err := r.base(ctx, id)
	if err != nil {
		return 0, err
	}
	if base.Kind != core.KindCheckpoint {
		return 0, fmt.Errorf("session %s no longer has a checkpoint: %w", id, core.ErrConflict)
	}
	return min(base.Base, base.Pos-1), nil
}

// older reports whether key is of a snapshot that covers less than m's and is not a
// part of that.
func older(key string, m *core.Manifest) bool {
	prefix := m.Object[:strings.LastIndexByte(m.Object, '/')+1]
	return strings.HasPrefix(key, prefix) && !slices.Contains(m.Objects(), key) && key < materializer.SnapshotKey(m.Log, m.Session, m.Seq, core.Digest{})
}
