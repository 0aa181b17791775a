package engine

import (
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
)

const (
	// maxAppends bounds the appends of all sessions that wait or are on their way.
	maxAppends = 10_000
	// maxAppendBytes bounds their lines.
	maxAppendBytes = 512 << 20
)

// A line bounds what waits in the queues of all sessions together: many
// sessions with short queues are a long one.
type line struct {
	mu      sync.Mutex
	appends int64
	bytes   int64
	refused int64
}

// enter counts an append of n bytes in. One is let in however large it is.
func (l *line) enter(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.appends >= maxAppends || l.appends > 0 && l.bytes+int64(n) > maxAppendBytes {
		l.refused++
		return fmt.Errorf("this node has %d appends of %d bytes waiting, try again: %w", l.appends, l.bytes, core.ErrUnavailable)
	}
	l.appends++
	l.bytes += int64(n)
	return nil
}

func (l *line) leave(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends--
	l.bytes -= int64(n)
}

// Waiting is how much waits to be stored.
type Waiting struct {
	Appends, MaxAppends int64
	Bytes, MaxBytes     int64
	Refused             int64 // appends, since the start
}

// Waiting returns how much waits to be stored, in all sessions together.
func (ss *Sessions) Waiting() Waiting {
	l := &ss.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	return Waiting{Appends: l.appends, MaxAppends: maxAppends, Bytes: l.bytes, MaxBytes: maxAppendBytes, Refused: l.refused}
}
