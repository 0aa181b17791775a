package follow

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	// lastLineDelay is how long a file must be unchanged before its last line counts
	// as complete without a newline.
	lastLineDelay = time.Second
	// settleDelay is how long a file must be unchanged before lines count as removed:
	// agents that rewrite a file in place first truncate it.
	settleDelay = 100 * time.Millisecond
	// removedDelay is how long a file must be missing before it counts as removed: a
	// new version may be about to be renamed into place.
	removedDelay = 2 * time.Second
	// verifyInterval is how often a file that keeps growing is read in full.
	verifyInterval = 30 * time.Second
	// firstSessionDelay is how long a new file may be invalid before that is
	// reported.
	firstSessionDelay = 5 * time.Second
	// clockTick is how close to an examination a change may come that leaves the
	// modification time as it was: the clocks of file systems are coarse.
	clockTick = 2 * time.Second
)

// A stat is what shows whether a file has changed.
type stat struct {
	dev, ino uint64
	size     int64
	mtime    int64 // nanoseconds
	seen     int64 // when it was examined
	since    int64 // when it was first seen like this; 0 if it was examined once
}

// unknownStat returns a stat that matches no file.
func unknownStat() stat { return stat{seen: time.Now().UnixNano()} }

func statOf(info fs.FileInfo) stat {
	s := stat{size: info.Size(), mtime: info.ModTime().UnixNano(), seen: time.Now().UnixNano()}
	s.dev, s.ino = identity(info)
	return s
}

// unchangedFor returns how long the file has not changed: by its modification time
// or, if that is in the future, as long as it has been seen like this.
func (s stat) unchangedFor() time.Duration {
	if s.mtime <= s.seen {
		return time.Duration(s.seen - s.mtime)
	}
	if s.since == 0 {
		return 0
	}
	return time.Duration(max(0, s.seen-s.since))
}

// after returns s with the time since when the file has been seen like this, given
// the previous stat.
func (s stat) after(before stat) stat {
	s.since = before.since
	if before.dev != s.dev || before.ino != s.ino || before.size != s.size || before.mtime != s.mtime || s.seen < before.since {
		s.since = s.seen // it changed, or the clock was set back
	}
	return s
}

// openFile opens a regular file.
func openFile(path string) (*os.File, stat, error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, stat{}, err
	}
	info, err := h.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = h.Close()
		return nil, stat{}, err
	}
	return h, statOf(info), nil
}

// isDocument reports whether the file is one JSON object rather than lines.
func isDocument(path string) bool { return strings.HasSuffix(path, ".json") }
