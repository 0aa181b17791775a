package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/sesslog/sesslog/config"
)

func replicasOf(cfg config.Config) int {
	switch {
	case cfg.Log.Replicas != 0:
		return cfg.Log.Replicas
	case cfg.Cluster.Name != "":
		return 3
	}
	return 1
}

// shardsOf returns the number of shards of a log that is created with cfg.
func shardsOf(cfg config.Config) int {
	switch {
	case cfg.Log.Shards != 0:
		return cfg.Log.Shards
	case replicasOf(cfg) > 1:
		return 8
	case cfg.NATS.Sync == config.SyncGroup:
		return 1
	}
	return 4
}

// checkpointSpread returns the bound of the random delay of checkpoints, which
// keeps nodes that share a log from writing the same one.
func checkpointSpread(replicas int) time.Duration {
	if replicas == 1 {
		return 0
	}
	return 2 * time.Second
}

// natsSyncInterval is the default sync interval of a NATS server.
const natsSyncInterval = 2 * time.Minute

// flushInterval returns how often the log's server syncs acknowledged records; 0
// means before every acknowledgment.
func flushInterval(cfg config.Config) time.Duration {
	if cfg.NATS.URL != "" {
		return cmp.Or(cfg.NATS.Sync.Interval(), natsSyncInterval)
	}
	return cfg.NATS.Sync.Interval()
}

// zeroIsNever maps a setting in which 0 means never to one in which 0 means the
// default and a negative value means never.
func zeroIsNever(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// diskless reports whether the node stores nothing on its own disk: it uses an
// external NATS, and its data directory does not exist.
func diskless(cfg config.Config) bool {
	_, err := os.Stat(cfg.Data)
	return cfg.NATS.URL != "" && errors.Is(err, fs.ErrNotExist)
}
