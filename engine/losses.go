package engine

import (
	"log/slog"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// Losses returns what was lost and repaired so far.
func (ss *Sessions) Losses() report.Losses {
	return report.Losses{Rewritten: ss.lost.rewritten.Load(), Rescued: ss.lost.rescued.Load(), Pending: ss.lost.pending.Load(), Backfilled: ss.cfg.Log.Backfilled()}
}

type losses struct {
	rewritten, rescued atomic.Uint64
	pending            atomic.Int64
}

func (l *losses) count(logger *slog.Logger, id core.SessionID, rewritten, rescued int) {
	if rewritten > 0 {
		l.rewritten.Add(uint64(rewritten))
		logger.Error("the log had lost acknowledged records; they were stored again. Check the disks of its servers",
			"session", id, "records", rewritten)
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
