package materializer

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session/catalog"
)

// tombstone returns the row of an erased session: its id and the fact, for sessions
// that descend from it.
func tombstone(id core.SessionID, seq uint64) catalog.Row {
	return catalog.Row{ID: id, Seq: seq, Deleted: true, Erased: true, Lineage: lineage.Stamp{Kind: lineage.Unknown}}
}

// markDeleted drops an erased session from memory, and replaces its row by a
// tombstone.
func (m *Materializer) markDeleted(id core.SessionID, seq uint64) {
	m.cfg.Directory.Put(View{Row: tombstone(id, seq)})
	m.cfg.Cache.Forget(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.work[id]; t != nil {
		delete(m.work, id)
		m.dropRow(t)
	}
}
