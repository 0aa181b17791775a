package embedded

import (
	"log/slog"
	"testing"
	"time"
)

// The server sets defaults for missing limits, in code that could drop the sync
// settings.
func TestSyncSettingsReachServer(t *testing.T) {
	t.Parallel()
	for _, maxStore := range []int64{0, 1 << 30} {
		for _, every := range []time.Duration{0, time.Second} {
			s, err := Start(t.Context(), Config{
				Dir: t.TempDir(), MaxStore: maxStore, SyncEvery: every, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := s.ns.JetStreamConfig()
			if got.SyncAlways != (every == 0) || every > 0 && got.SyncInterval != every {
				t.Errorf("SyncEvery %v, MaxStore %d: always %v, interval %v", every, maxStore, got.SyncAlways, got.SyncInterval)
			}
			if got.MaxMemory != defaultMaxMemory || maxStore > 0 && got.MaxStore != maxStore || got.MaxStore <= 0 {
				t.Errorf("MaxStore %d: %d on disk, %d in memory", maxStore, got.MaxStore, got.MaxMemory)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
