package engine

import (
	"log/slog"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// Losses returns what was lost and repaired so far.
func (ss *Sessions) Losses() report.Losses {
	return report.Losses{Redone: ss.lost.redone.Load(), Rescued: ss.lost.rescued.Load(), Pending: ss.lost.pending.Load(), Backfilled: ss.cfg.Log.Backfilled()}
}

type losses struct {
	redone, rescued atomic.Uint64
	pending         atomic.Int64
}

func (l *losses) count(logger *slog.Logger, id core.SessionID, redone, rescued int) {
	if redone > 0 {
		l.redone.Add(uint64(redone))
		logger.Error("the log had lost acknowledged records; they were stored again. Check the disks of its servers",
			"session", id, "records", redone)
	}
	if rescued > 0 {
		l.rescued.Add(uint64(rescued))
		logger.Error("the log had lost acknowledged records, and another writer has continued; the lines are on a separate head (see: sessctl heads)",
			"session", id, "lines", rescued)
	}
}

// noteOrphans logs that v has orphans.
func (l *losses) noteOrphans(logger *slog.Logger, v *view) {
	if len(v.orphans) > 0 {
		logger.Warn("the log has orphans: records that follow ones that it has lost",
			"session", v.st.ID, "records", len(v.orphans), "first", v.orphans[0].Pos)
	}
}
