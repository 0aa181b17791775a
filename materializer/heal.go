package materializer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/engine"
)

// healEvery is how often a session with a loss is compared with the log again:
// another process may have restored it.
const healEvery = time.Minute

// guard compares rows and snapshots with the log once, and restores sessions of
// which the log has lost records, until ctx ends.
func (m *Materializer) guard(ctx context.Context) error {
	tick := time.NewTicker(healEvery)
	defer tick.Stop()
	for {
		if err := m.compareAll(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("snapshots cannot be compared with the log now; retrying", "err", err)
		}
		for _, l := range m.cfg.Guard.Losses() {
			if err := m.Heal(ctx, &l); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Warn("session cannot be restored now; retrying", "session", l.Session, "err", err)
			}
		}
		select {
		case <-m.cfg.Guard.wake:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compareAll compares every session with its row and snapshots, once.
func (m *Materializer) compareAll(ctx context.Context) error {
	if m.cfg.Guard.surveyed.Load() {
		return nil
	}
	if err := m.cfg.Guard.load(ctx); err != nil {
		return err
	}
	for shard := range m.cfg.Log.Shards() {
		if err := m.compareRows(ctx, shard); err != nil {
			return err
		}
	}
	if err := m.followed(ctx); err != nil {
		return err
	}
	if err := m.compareSnapshots(ctx); err != nil {
		return err
	}
	m.cfg.Guard.surveyed.Store(true)
	return nil
}

// followed waits until the shards are followed up to their ends. It loads no session:
// one whose row is pending is compared with the log.
func (m *Materializer) followed(ctx context.Context) error {
	for shard := range m.cfg.Log.Shards() {
		st, err := m.cfg.Log.State(ctx, shard)
		if err != nil {
			return err
		}
		if st.Lag(m.Past(shard)) == 0 {
			continue
		}
		if err := m.waitFor(ctx, shard, st.Last); err != nil {
			return err
		}
	}
	return nil
}

// compareRows notes the losses of a shard that its rows prove. It asks for tails without
// proof: a leader that lags names too few records, and Guard.prove finds that out.
func (m *Materializer) compareRows(ctx context.Context, shard int) error {
	tails, err := m.cfg.Log.Tails(ctx, shard, false)
	if err != nil {
		return err
	}
	ends := map[core.SessionID]uint64{}
	for _, ch := range tails.Sessions {
		ends[ch.Session] = ch.Seq
	}
	m.cfg.Directory.Sync(ctx)
	for row, err := range m.cfg.Directory.Rows(ctx) {
		if err != nil {
			return err
		}
		if m.cfg.Log.Shard(row.ID) != shard || row.Erased || row.Seq <= ends[row.ID] {
			continue
		}
		if err := m.examine(ctx, row.ID); err != nil {
			return err
		}
	}
	return nil
}

// examine is Guard.Examine for a caller that examines many sessions: one that is
// corrupt does not stop it.
func (m *Materializer) examine(ctx context.Context, id core.SessionID) error {
	err := m.cfg.Guard.Examine(ctx, id)
	if errors.Is(err, core.ErrCorrupt) {
		m.cfg.Logger.Error("session is corrupt; check it with: sessctl verify "+string(id), "session", id, "err", err)
		return nil
	}
	return err
}

// compareSnapshots notes the losses that snapshots prove. Rows tell which sessions to
// look at; they must have caught up with the log.
func (m *Materializer) compareSnapshots(ctx context.Context) error {
	prefix := fmt.Sprintf("snapshots/%s/", m.cfg.Log.Name())
	var last core.SessionID
	for info, err := range m.cfg.Snapshots.bucket.List(ctx, prefix) {
		if err != nil {
			return BlobError(err)
		}
		name, _, _ := strings.Cut(info.Key[len(prefix):], "/")
		id := core.SessionID(name)
		if id == last || SnapshotSeq(info.Key) <= m.cfg.Directory.Seq(id) {
			continue
		}
		last = id
		if err := m.examine(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Heal stores again what snapshots have of a session and the log has lost, and ends
// the loss if nothing is missing then.
func (m *Materializer) Heal(ctx context.Context, l *report.Loss) error {
	if err := m.examine(ctx, l.Session); err != nil || m.cfg.Guard.Loss(l.Session) == nil {
		return err
	}
	ctx = engine.WithRestoring(ctx)
	kept, err := m.cfg.Snapshots.Kept(ctx, m.cfg.Log.Name(), l.Session)
	if err != nil {
		return err
	}
	s, from, err := m.restoreLines(ctx, l, kept)
	if isTransient(err) {
		return err
	}
	if err != nil {
		return m.leave(ctx, l, err.Error())
	}
	var seq uint64
	var entries int
	var size int64
	_ = s.View(func(st *core.State) error {
		seq, entries, size = st.Seq, len(st.Entries), ViewOf(st).Row.Size
		return nil
	})
	if from != l.Witness && !isHealed(l, seq, entries, size) {
		why := "no snapshot has what is missing"
		if from != "" {
			why = "it was restored up to " + from + ", and no snapshot has the rest"
		}
		return m.leave(ctx, l, why)
	}
	return m.healed(ctx, l, s, kept)
}

// leave notes why a session was not restored completely.
func (m *Materializer) leave(ctx context.Context, l *report.Loss, why string) error {
	if l.Tried == why {
		return nil
	}
	l.Tried = why
	return m.cfg.Guard.note(ctx, l)
}

// restoreLines stores the lines of the latest snapshot that continues the session. It
// returns that snapshot's key, "" if there is none.
func (m *Materializer) restoreLines(ctx context.Context, l *report.Loss, kept []blobstore.Info) (s *engine.Session, from string, err error) {
	has := m.cfg.Sessions.Has(ctx, l.Session)
	if has == nil {
		if s, err = m.cfg.Sessions.Open(ctx, l.Session); err != nil {
			return nil, "", err
		}
	} else if !errors.Is(has, core.ErrNotFound) {
		return nil, "", has
	}
	why := errors.New("no snapshot of it is left")
	for _, info := range wholeSnapshots(kept, l.End) {
		plain, err := m.cfg.Snapshots.plain(ctx, m.cfg.Log.Name(), l.Session, info)
		if err == nil && s == nil {
			s, err = m.createLost(ctx, l, plain)
		} else if err == nil {
			_, err = s.Extend(ctx, plain)
		}
		switch {
		case err == nil:
			return s, info.Key, nil
		case isTransient(err):
			return nil, "", err
		}
		why = err
	}
	if s == nil {
		return nil, "", fmt.Errorf("it cannot be restored: %w", why)
	}
	return s, "", nil
}

// createLost creates a session again that the log does not know.
func (m *Materializer) createLost(ctx context.Context, l *report.Loss, plain []byte) (*engine.Session, error) {
	d := m.cfg.Sessions.Dialect(l.Dialect)
	if d == nil {
		return nil, fmt.Errorf("the dialect of the session is unknown: %w", core.ErrCorrupt)
	}
	first, rest, _ := bytes.Cut(plain, []byte("\n"))
	h, err := d.Header(first)
	if err != nil {
		return nil, err
	}
	es, err := core.BodyEntries(d, bytes.TrimSuffix(rest, []byte("\n")))
	if err != nil {
		return nil, err
	}
	return m.cfg.Sessions.Create(ctx, engine.CreateRequest{ID: l.Session, Origin: core.Origin{Dialect: l.Dialect}, Header: h, Entries: es})
}

// healed writes a snapshot of a restored session, removes those of lost records,
// which it contains, and ends the loss.
func (m *Materializer) healed(ctx context.Context, l *report.Loss, s *engine.Session, kept []blobstore.Info) error {
	if _, err := m.Checkpoint(ctx, s); err != nil {
		return err
	}
	var named []string
	_ = s.View(func(st *core.State) error {
		named = append(st.Snapshot.Objects(), st.Snapshot.Object)
		return nil
	})
	for _, info := range kept {
		if seq := SnapshotSeq(info.Key); seq <= l.End || seq > l.Proved || slices.Contains(named, info.Key) {
			continue
		}
		if err := m.cfg.Snapshots.Remove(ctx, info.Key); err != nil {
			return err
		}
	}
	m.cfg.Cache.Forget(l.Session)
	m.Remake(s)
	m.cfg.Logger.Error("the log had lost acknowledged records of a session; it was restored from a snapshot. Check the disks of the log's servers",
		"session", l.Session, "loss", l.String())
	return m.cfg.Guard.forget(ctx, l.Session)
}

// plain returns the bytes of a whole snapshot without its manifest. Its key has their
// digest.
func (s *Snapshots) plain(ctx context.Context, log string, id core.SessionID, info blobstore.Info) ([]byte, error) {
	r, err := s.bucket.Get(ctx, info.Key)
	if err != nil {
		return nil, BlobError(err)
	}
	defer r.Close()
	packed, err := io.ReadAll(io.LimitReader(r, info.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", info.Key, BlobError(err))
	}
	plain, err := snapshot.Unpack(packed)
	if err != nil || SnapshotKey(log, id, SnapshotSeq(info.Key), core.DigestOf(plain)) != info.Key {
		return nil, fmt.Errorf("snapshot %s is corrupt: %w", info.Key, errors.Join(err, core.ErrCorrupt))
	}
	return plain, nil
}
