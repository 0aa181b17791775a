package follow

import (
	"testing"
	"time"
)

// How long a file is quiet is told by its own time, and where that is still to
// come by how long it has been seen as it is.
func TestAFileFromTheFutureIsQuietOnceItIsSeenToBe(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixNano()
	at := func(d time.Duration) int64 { return now + int64(d) }
	f := &file{}
	for _, x := range []struct {
		what  string
		s     stat
		quiet time.Duration
	}{
		{"by its own time", stat{ino: 1, size: 9, mtime: at(-time.Hour), seen: at(0)}, time.Hour},
		{"from the future, seen first", stat{ino: 1, size: 9, mtime: at(time.Hour), seen: at(0)}, 0},
		{"seen again", stat{ino: 1, size: 9, mtime: at(time.Hour), seen: at(time.Second)}, time.Second},
		{"grown", stat{ino: 1, size: 10, mtime: at(time.Hour), seen: at(2 * time.Second)}, 0},
		{"grown and seen again", stat{ino: 1, size: 10, mtime: at(time.Hour), seen: at(5 * time.Second)}, 3 * time.Second},
		{"another one", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(6 * time.Second)}, 0},
		{"of a clock that was set back", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(4 * time.Second)}, 0},
		{"and seen again", stat{ino: 2, size: 10, mtime: at(time.Hour), seen: at(5 * time.Second)}, time.Second},
		{"a moment ahead", stat{ino: 3, size: 10, mtime: at(7*time.Second + time.Millisecond), seen: at(7 * time.Second)}, 0},
	} {
		if got := f.watched(x.s).quietFor(); got != x.quiet {
			t.Errorf("%s it is quiet for %s, want %s", x.what, got, x.quiet)
		}
	}
	if unseen := (stat{mtime: at(time.Hour), seen: at(0)}); unseen.quietFor() != 0 {
		t.Error("what nobody watches is quiet")
	}
}
