package materializer

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/engine"
)

// Forget drops a session from memory. Who has it goes on with it.
func (c *Cache) Forget(id core.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[id]; ok {
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

// gravestone is the row of a session that was erased: that it was, and nothing
// else. Where others came from it, they show so.
func gravestone(id core.SessionID, seq uint64) Row {
	return Row{ID: id, Seq: seq, Deleted: true, Erased: true, Lineage: lineage.Stamp{Kind: lineage.Unknown}}
}

// bury drops what is in memory and in the rows of a session that was erased.
func (m *Materializer) bury(id core.SessionID, seq uint64) {
	m.cfg.Directory.Put(View{Row: gravestone(id, seq)})
	m.cfg.Cache.Forget(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tails[id]; t != nil {
		delete(m.tails, id)
		delete(m.late, t)
	}
}

func isErased(s *engine.Session) (erased bool) {
	_ = s.View(func(st *core.State) error {
		erased = st.Erased != nil
		return nil
	})
	return erased
}

// sessionPrefix is what the keys of a session's snapshots begin with.
func sessionPrefix(log string, id core.SessionID) string {
	return fmt.Sprintf("snapshots/%s/%s/", log, id)
}

// Kept returns the snapshots of a session that are in the bucket, oldest first.
func (s *Snapshots) Kept(ctx context.Context, log string, id core.SessionID) ([]blobstore.Info, error) {
	var all []blobstore.Info
	for info, err := range s.bucket.List(ctx, sessionPrefix(log, id)) {
		if err != nil {
			return nil, fmt.Errorf("snapshots of session %s: %w", id, BlobError(err))
		}
		all = append(all, info)
	}
	return all, nil
}

// Remove deletes a snapshot. That it is not there is no error.
func (s *Snapshots) Remove(ctx context.Context, key string) error {
	return BlobError(s.bucket.Delete(ctx, key))
}
