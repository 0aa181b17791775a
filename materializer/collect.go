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
)

const (
	// DefaultGarbage is what is left in a shard that nobody needs, besides as much
	// as is needed.
	DefaultGarbage = 64 << 20
	// DefaultGrace is how long a snapshot stays that another took the place of.
	DefaultGrace = time.Hour
	// collectMin and collectMax bound how often old snapshots are looked for,
	// which is twice in a grace.
	collectMin = time.Minute
	collectMax = 6 * time.Hour
	// collectBatch is how many sessions are looked at before any snapshot of theirs
	// is deleted.
	collectBatch = 500
)

// An old snapshot is one of a session's that a later one took the place of.
type old struct {
	session core.SessionID
	objects []blobstore.Info // oldest first
	all     []blobstore.Info // that the session has
	before  time.Time        // a grace ago
}

// replaced reports whether what took the place of key has been there for a grace: the
// first object behind it that the session is read from, for the next one may be
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
			m.cfg.Logger.Warn("old snapshots not all deleted; again later", "err", err)
		}
		if n > 0 {
			m.cfg.Logger.Info("old snapshots deleted", "objects", n, "bytes", size)
		}
	}
}

// Collect deletes, of the sessions that this node looks after, the snapshots
// that another took the place of at least grace ago. Only such are deleted as
// cover less than the one that the session is read from: it is loaded from the
// leader, its snapshot read and its chain proved first. Sessions that cannot be
// loaded keep all of theirs; those that were erased keep none: whoever was killed
// while one was written could not take it back. It returns what was deleted, also
// with an error.
func (m *Materializer) Collect(ctx context.Context, grace time.Duration) (objects int, bytes int64, err error) {
	prefix := fmt.Sprintf("snapshots/%s/", m.cfg.Log.Name())
	erased := map[core.SessionID]bool{} // as far as the rows know; the log is asked again
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

// superseded returns the snapshots of a session, in the order of their keys,
// that have had a later one since before.
func superseded(group []blobstore.Info, before time.Time) []blobstore.Info {
	var out []blobstore.Info
	for i := 0; i+1 < len(group) && group[i+1].Modified.Before(before); i++ {
		out = append(out, group[i])
	}
	return out
}

// collectBatch deletes those of the snapshots that are not needed. Where the
// brokers flush late, they may yet forget the checkpoint that says so: then all
// is proved again when they have flushed.
func (m *Materializer) collectBatch(ctx context.Context, batch []old) (objects int, bytes int64, err error) {
	if len(batch) == 0 {
		return 0, 0, nil
	}
	if late := m.cfg.Sessions.FlushEvery(); late > 0 {
		batch = m.unneeded(ctx, batch)
		select {
		case <-time.After(2 * late):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
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

// unneeded returns those of the snapshots that cover less than what their
// session is read from and are no part of it, and all of one that was erased.
func (m *Materializer) unneeded(ctx context.Context, batch []old) []old {
	var out []old
	for _, o := range batch {
		s, err := m.cfg.Sessions.Open(ctx, o.session)
		if errors.Is(err, core.ErrDeleted) { // erased: one in the trash can be opened
			out = append(out, o)
			continue
		}
		if err != nil {
			m.cfg.Logger.Warn("session keeps its old snapshots, it cannot be loaded", "session", o.session, "err", err)
			continue
		}
		begun := s.Begun()
		if begun == nil || s.Strays() > 0 {
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
