package embedded_test

import (
	"testing"
	"time"

	"github.com/sesslog/sesslog/stream/embedded"
)

// The size of all streams is read once for all of them, and again when the cache
// expires.
func TestCapacityCachesSizeOfStreams(t *testing.T) {
	t.Parallel()
	// A small limit, so that the disk is never fuller.
	s := start(t, embedded.Config{Dir: t.TempDir(), MaxStore: 1 << 20, SyncEvery: time.Second, Logger: quiet})
	makeStream(t, s, "S", 1)
	room := func(stream string) int64 {
		used, limit, err := s.Capacity(stream)
		if err != nil || limit != 1<<20 {
			t.Fatalf("%d of %d, %v", used, limit, err)
		}
		return used
	}
	s.StoredAt(time.Time{})
	empty := room("S")
	s.StoredAt(time.Now().Add(time.Hour)) // the cache does not expire
	if _, err := jetStream(t, s).Publish(t.Context(), "s.x", make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"S", "another"} {
		if used := room(stream); used != empty {
			t.Errorf("%s has %d used bytes, want %d from the cache", stream, used, empty)
		}
	}
	s.StoredAt(time.Time{})
	for _, stream := range []string{"S", "another"} {
		if used := room(stream); used < empty+64<<10 {
			t.Errorf("%s: %d, it was %d before 64 KiB were stored", stream, used, empty)
		}
	}
}
