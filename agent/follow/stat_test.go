package follow

import (
	"testing"
	"time"
)

// If the modification time is in the future, the file counts as unchanged for as
// long as it has been seen with the same stat.
func TestUnchangedForWithModificationTimeInTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixNano()
	at := func(d time.Duration) int64 { return now + int64(d) }
	f := &file{}
	for _, x := range []struct {
		name string
		s    stat
		want time.Duration
	}{
		{"past modification time", stat{ino: 1, size: 9, mtime: at(-time.Hour), seen: at(0)}, time.Hour},
		{"first seen", stat{ino: 1, size: 9, mtime: at(time.Hour), seen: at(0)}, 0},
		{"seen again", stat{ino: 1, size: 9, mtime: at(time.Hour), seen: at(time.Second)}, time.Second},
		{"grown", stat{ino: 1, size: 10, mtime: at(time.Hour), seen: at(2 * time.Second)}, 0},
		{"grown, seen again", stat{ino: 1, size: 10, mtime: at(time.Hour), seen: at(5 * time.Second)}, 3 * time.Second},
		{"other file", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(6 * time.Second)}, 0},
		{"clock set back", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(4 * time.Second)}, 0},
		{"clock set back, seen again", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(5 * time.Second)}, time.Second},
		{"slightly ahead", stat{ino: 3, size: 10, mtime: at(7*time.Second + time.Millisecond), seen: at(7 * time.Second)}, 0},
	} {
		if got := f.observe(x.s).unchangedFor(); got != x.want {
			t.Errorf("%s: unchanged for %s, want %s", x.name, got, x.want)
		}
	}
	if once := (stat{mtime: at(time.Hour), seen: at(0)}); once.unchangedFor() != 0 {
		t.Error("a file that was seen once counts as unchanged")
	}
}
