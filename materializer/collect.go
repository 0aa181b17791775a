package materializer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// defaultGarbage is the default of Config.Garbage.
	defaultGarbage = 64 << 20
	// defaultGrace is the default of Config.Grace.
	defaultGrace = time.Hour
	// Old snapshots are collected twice in a grace, within collectMin and
	// collectMax.
	collectMin = time.Minute
	collectMax = 6 * time.Hour
	// collectBatch is how many sessions are checked before their snapshots are
	// deleted.
	collectBatch = 500
)

// An old is a session with superseded snapshots.
type old struct {
	session core.SessionID
	objects []blobstore.Info // oldest first
	all     []blobstore.Info // all objects of the session
	before  time.Time        // now minus grace
}

// replaced reports whether the object that superseded key is older than the grace.
// That is the first later object that the session is read from: the next one may be
// another part of the same snapshot.
func (o *old) replaced(key string, named []string) bool {
	for _, info := range o.all {
		if info.Key > key && slices.Contains(named, info.Key) {
			return info.Modified.Before(o.before)
		}
	}
	return true
}

// collect deletes old snapshots from time to time until ctx ends.
func (m *Materializer) collect(ctx context.Context) error {
	if m.cfg.Grace < 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	tick := time.NewTicker(min(max(m.cfg.Grace/2, collectMin), collectMax))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		n, size, err := m.Collect(ctx, m.cfg.Grace)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			m.cfg.Logger.Warn("some old snapshots could not be deleted; retrying later", "err", err)
		}
		if n > 0 {
			m.cfg.Logger.Info("old snapshots deleted", "objects", n, "bytes", size)
		}
	}
}

// Collect deletes the snapshots of sessions of owned shards that were superseded at
// least grace ago. A deleted snapshot covers less than the one that the session is
// read from: to prove that, the session is loaded from the leader, its snapshot
// read and its chain verified. Sessions that cannot be loaded keep all snapshots.
// Sessions of which the log has lost records keep all, too, see Guard.
// Erased sessions keep none, because a node that was killed while it wrote one
// could not remove it. It returns what was deleted, also with an error.
func (m *Materializer) Collect(ctx context.Context, grace time.Duration) (objects int, bytes int64, err error) {
	if err := m.cfg.Guard.load(ctx); err != nil {
		return 0, 0, err
	}
	prefix := fmt.Sprintf("snapshots/%s/", m.cfg.Log.Name())
	erased := map[core.SessionID]bool{} // according to the rows; the log is asked again
	for _, id := range m.cfg.Directory.Erased() {
		erased[id] = true
	}
	var batch []old
	flush := func() error {
		n, size, err := m.collectBatch(ctx, batch)
		objects, bytes, batch = objects+n, bytes+size, nil
		return err
	}
	var of core.SessionID
	var group []blobstore.Info
	end := func() error {
		before := time.Now().Add(-grace)
		if m.mayBeLost(ctx, of, group) {
			group = group[:0]
			return nil
		}
		all := slices.Clone(group)
		o := superseded(group, before)
		if erased[of] {
			o = all
		}
		if len(o) > 0 && m.owns(m.cfg.Log.Shard(of)) {
			batch = append(batch, old{of, o, all, before})
		}
		group = group[:0]
		if len(batch) < collectBatch {
			return nil
		}
		return flush()
	}
	for info, err := range m.cfg.Snapshots.bucket.List(ctx, prefix) {
		if err != nil {
			return objects, bytes, BlobError(err)
		}
		id, _, _ := strings.Cut(info.Key[len(prefix):], "/")
		if core.SessionID(id) != of {
			if err := end(); err != nil {
				return objects, bytes, err
			}
			of = core.SessionID(id)
		}
		group = append(group, info)
	}
	if err := end(); err != nil {
		return objects, bytes, err
	}
	err = flush()
	return objects, bytes, err
}

// mayBeLost reports whether the log may have lost records of a session: then every
// snapshot may be the last copy. A snapshot after the session's row, which lags
// behind the log, may prove that.
func (m *Materializer) mayBeLost(ctx context.Context, id core.SessionID, group []blobstore.Info) bool {
	w := witnesses{snapshots: group}
	if _, seq := w.latest(); seq > m.cfg.Directory.Seq(id) {
		if err := m.cfg.Guard.Examine(ctx, id); err != nil {
			m.cfg.Logger.Warn("session cannot be compared with its snapshots; they are kept", "session", id, "err", err)
			return true
		}
	}
	return m.cfg.Guard.Loss(id) != nil
}

// superseded returns the snapshots of a session, in the order of their keys, that a
// later one superseded before that time.
func superseded(group []blobstore.Info, before time.Time) []blobstore.Info {
	var out []blobstore.Info
	for i := 0; i+1 < len(group) && group[i+1].Modified.Before(before); i++ {
		out = append(out, group[i])
	}
	return out
}

// collectBatch deletes the snapshots of batch that are not needed. If brokers flush
// late, they may lose the checkpoint that proves it: then it is proved again after
// they have flushed.
func (m *Materializer) collectBatch(ctx context.Context, batch []old) (objects int, bytes int64, err error) {
	if len(batch) == 0 {
		return 0, 0, nil
	}
	if late := m.cfg.Sessions.FlushEvery(); late > 0 {
		batch = m.unneeded(ctx, batch)
		if err := retry.Wait(ctx, 2*late); err != nil {
			return 0, 0, err
		}
	}
	for _, o := range m.unneeded(ctx, batch) {
		for _, info := range o.objects {
			if err := m.cfg.Snapshots.bucket.Delete(ctx, info.Key); err != nil {
				return objects, bytes, BlobError(err)
			}
			objects, bytes = objects+1, bytes+info.Size
		}
	}
	return objects, bytes, ctx.Err()
}

// unneeded returns the snapshots that cover less than what their session is read
// from and are no part of that, and all snapshots of an erased session.
func (m *Materializer) unneeded(ctx context.Context, batch []old) []old {
	var out []old
	for _, o := range batch {
		s, err := m.cfg.Sessions.Open(ctx, o.session)
		if errors.Is(err, core.ErrDeleted) { // erased: a session in the trash can be opened
			out = append(out, o)
			continue
		}
		if err != nil {
			m.cfg.Logger.Warn("session cannot be loaded; its old snapshots are kept", "session", o.session, "err", err)
			continue
		}
		begun := s.BaseManifest()
		if begun == nil || s.Orphans() > 0 {
			continue
		}
		named := begun.Objects()
		o.objects = slices.DeleteFunc(slices.Clone(o.objects), func(i blobstore.Info) bool {
			return i.Key >= begun.Object || slices.Contains(named, i.Key) || !o.replaced(i.Key, named)
		})
		if len(o.objects) > 0 {
			out = append(out, o)
		}
	}
	return out
}
