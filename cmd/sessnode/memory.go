package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/internal/memory"
)

// limitMemory makes Go collect garbage before the container's limit is reached, unless
// GOMEMLIMIT is set.
func limitMemory(logger *slog.Logger) {
	if _, err := memlimit.Set(); err != nil {
		logger.Warn("the container's memory limit is not known; set GOMEMLIMIT to 90 % of it", "err", err)
	}
}

// unlimitedMemory is the budget of a process without a memory limit.
const unlimitedMemory = 1 << 30

// memoryBudget returns the budget for what callers can have the node hold: limits.memory,
// or half of what the process may use. The rest is for the embedded server, for work
// that no caller asked for, and for garbage. A quarter of the budget is for small
// requests and followers, see server.Config.
func memoryBudget(cfg config.Config) *memory.Budget {
	all := int64(cfg.Limits.Memory)
	if limit := debug.SetMemoryLimit(-1); all == 0 && limit == math.MaxInt64 {
		all = unlimitedMemory
	} else if all == 0 {
		all = limit / 2
	}
	return memory.NewBudget("memory", all/4*3)
}
