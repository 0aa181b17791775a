package engine

import (
	"log/slog"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// Losses counts what the log was found to have lost.
type Losses = report.Losses

// Losses returns what was found lost and put back so far.
func (ss *Sessions) Losses() Losses {
	return Losses{Redone: ss.lost.redone.Load(), Rescued: ss.lost.rescued.Load(), Pending: ss.lost.pending.Load(), Backfilled: ss.cfg.Log.Backfilled()}
}

type losses struct {
	redone, rescued atomic.Uint64
	pending         atomic.Int64
}

func (l *losses) count(logger *slog.Logger, id core.SessionID, redone, rescued int) {
	if redone > 0 {
		l.redone.Add(uint64(redone))
		logger.Error("the log had lost acknowledged records; they were put back. Look after its servers' disks",
			"session", id, "records", redone)
	}
	if rescued > 0 {
		l.rescued.Add(uint64(rescued))
		logger.Error("the log had lost acknowledged records and somebody has gone on; their lines are on a head of their own (see: sessctl heads)",
			"session", id, "lines", rescued)
	}
}

// note says that strays were met.
func (l *losses) noteOrphans(logger *slog.Logger, v *view) {
	if len(v.orphans) > 0 {
		logger.Warn("the log holds records that do not follow the others: their writers knew what it has lost",
			"session", v.st.ID, "records", len(v.orphans), "first", v.orphans[0].Pos)
	}
}
