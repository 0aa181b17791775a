package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"go.opentelemetry.io/otel/trace"
)

const (
	// maxWaiting bounds the appends that wait for a session's turn.
	maxWaiting = 256
	// maxLines bounds the lines of one append.
	maxLines = 100_000
)

// A request is an Append on its way.
type request struct {
	Append
	lines    [][]byte          // as the log keeps them
	ids      []string          // given to lines that have none, on every try the same
	span     trace.SpanContext // that it is part of
	began    time.Time         // when its blobs were put
	deadline time.Time         // when it is given up, if it cannot have been stored by then
	done     chan struct{}
	entries  []core.Entry // admitted
	receipt  Receipt
	err      error
}

// enqueue puts q in line, and starts the goroutine that serves the line where
// none is at it.
func (s *Session) enqueue(q *request) error {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	if len(s.queue) >= maxWaiting {
		return fmt.Errorf("session %s has %d appends waiting, try again: %w", s.id, len(s.queue), core.ErrUnavailable)
	}
	if !s.serving {
		if err := s.ss.workers.start(s.serve); err != nil {
			return fmt.Errorf("append to session %s: %w", s.id, err)
		}
		s.serving = true
	}
	s.queue = append(s.queue, q)
	return nil
}

// serve stores what waits, a record at a time, until nothing does. An append
// is seen through even when its caller has gone.
func (s *Session) serve() {
	for {
		s.yield()
		batch := s.nextBatch()
		if batch == nil {
			return
		}
		s.serveBatch(batch)
	}
}

// take removes from the queue the requests that may share a record with its
// first. It returns none, and ends the service, when the queue is empty.
func (s *Session) nextBatch() []*request {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	if len(s.queue) == 0 {
		s.serving = false
		return nil
	}
	n, size := 0, 0
	for _, q := range s.queue {
		if n > 0 && !q.joins(s.queue[0]) {
			break
		}
		if size += q.size(); n > 0 && size > batchBytes {
			break
		}
		n++
	}
	batch := s.queue[:n:n]
	s.queue = append([]*request(nil), s.queue[n:]...)
	return batch
}

// batchBytes is the size from which waiting lines no longer share a record. It is
// what a JetStream message takes before its body becomes a blob.
const batchBytes = 256 << 10

// size is how many bytes q adds to a record.
func (q *request) size() (n int) {
	for _, line := range q.lines {
		n += len(line) + 1
	}
	return n
}

// joins reports whether q may share a record with first.
func (q *request) joins(first *request) bool {
	return q.Head == first.Head && q.Writer == first.Writer && !q.needsOwnRecord() && !first.needsOwnRecord()
}

// alone reports whether q takes a record of its own: it expects a position, or
// its lines may lack the ids that others behind it would continue.
func (q *request) needsOwnRecord() bool { return q.After != nil || q.Loose || q.from != nil }

// await returns what became of q. While q is still in line it can be taken
// back, and nothing is in uncertain.
func (s *Session) await(ctx context.Context, q *request) (Receipt, error) {
	late := time.NewTimer(time.Until(q.deadline))
	defer late.Stop()
	for {
		select {
		case <-q.done:
			if q.err != nil {
				return Receipt{}, q.err
			}
			return q.receipt, nil
		case <-late.C:
			if s.withdraw(q) {
				return Receipt{}, fmt.Errorf("append to session %s: its turn did not come in time, and nothing was sent: %w", s.id, core.ErrUnavailable)
			}
		case <-ctx.Done():
			if s.withdraw(q) {
				return Receipt{}, fmt.Errorf("append to session %s: nothing was sent: %w: %w", s.id, ctx.Err(), core.ErrUnavailable)
			}
			return Receipt{}, fmt.Errorf("append to session %s: %w: %w", s.id, ctx.Err(), core.ErrUncertain)
		}
	}
}

// drop takes q out of the line. It reports whether q was still there.
func (s *Session) withdraw(q *request) bool {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	i := slices.Index(s.queue, q)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.ss.limit.release(q.size())
	return true
}

const (
	// maxAppends bounds the appends of all sessions that wait or are on their way.
	maxAppends = 10_000
	// maxAppendBytes bounds their lines.
	maxAppendBytes = 512 << 20
)

// A line bounds what waits in the queues of all sessions together: many
// sessions with short queues are a long one.
type queueLimit struct {
	mu      sync.Mutex
	appends int64
	bytes   int64
	refused int64
}

// enter counts an append of n bytes in. One is let in however large it is.
func (l *queueLimit) acquire(n int) error {
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

func (l *queueLimit) release(n int) {
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
	l := &ss.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	return Waiting{Appends: l.appends, MaxAppends: maxAppends, Bytes: l.bytes, MaxBytes: maxAppendBytes, Refused: l.refused}
}
