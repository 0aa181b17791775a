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
	// maxWaiting bounds the queue of one session.
	maxWaiting = 256
	// maxLines bounds the lines of one append.
	maxLines = 100_000
)

// request is an Append in a session's queue.
type request struct {
	Append
	lines    [][]byte          // as the log stores them
	ids      []string          // for lines without one, the same on every attempt
	span     trace.SpanContext // of the caller
	began    time.Time         // when its blobs were stored
	deadline time.Time         // for what cannot have been stored
	done     chan struct{}
	entries  []core.Entry // admitted
	receipt  core.Receipt
	err      error
}

// enqueue adds q to the queue. It starts the goroutine that stores the queue if none
// runs.
func (s *Session) enqueue(q *request) error {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	if len(s.queue) >= maxWaiting {
		return fmt.Errorf("session %s: %d appends are queued, try again: %w", s.id, len(s.queue), core.ErrUnavailable)
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

// serve stores queued requests, one record at a time, until the queue is empty. A
// request that has left the queue is completed even if its caller has left.
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

// nextBatch removes from the queue the requests that may share a record with the
// first one. If the queue is empty, it returns nil and the caller must stop serving.
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

// batchBytes is the size from which requests no longer share a record. A larger body
// of a JetStream message becomes a blob.
const batchBytes = 256 << 10

// size returns how many bytes q adds to a record.
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

// needsOwnRecord reports whether q cannot share a record: it expects a position, or
// its lines may lack the ids that the next request would need.
func (q *request) needsOwnRecord() bool { return q.After != nil || q.Loose || q.from != nil }

// await returns the result of q. A request that is still queued is withdrawn at its
// deadline or when ctx ends; then nothing was sent.
func (s *Session) await(ctx context.Context, q *request) (core.Receipt, error) {
	late := time.NewTimer(time.Until(q.deadline))
	defer late.Stop()
	for {
		select {
		case <-q.done:
			if q.err != nil {
				return core.Receipt{}, q.err
			}
			return q.receipt, nil
		case <-late.C:
			if s.withdraw(q) {
				return core.Receipt{}, fmt.Errorf("append to session %s: timed out in the queue, and nothing was sent: %w", s.id, core.ErrUnavailable)
			}
		case <-ctx.Done():
			if s.withdraw(q) {
				return core.Receipt{}, fmt.Errorf("append to session %s: nothing was sent: %w: %w", s.id, ctx.Err(), core.ErrUnavailable)
			}
			return core.Receipt{}, fmt.Errorf("append to session %s: %w: %w", s.id, ctx.Err(), core.ErrUncertain)
		}
	}
}

// withdraw removes q from the queue. It reports whether q was still queued.
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
	// maxAppends bounds the queued and in-flight appends of all sessions.
	maxAppends = 10_000
	// maxAppendBytes bounds their lines.
	maxAppendBytes = 512 << 20
)

// queueLimit bounds the queues of all sessions together.
type queueLimit struct {
	mu      sync.Mutex
	appends int64
	bytes   int64
	refused int64
}

// acquire counts an append of n bytes. The first one is admitted whatever its size.
func (l *queueLimit) acquire(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.appends >= maxAppends || l.appends > 0 && l.bytes+int64(n) > maxAppendBytes {
		l.refused++
		return fmt.Errorf("this node has %d appends of %d bytes queued, try again: %w", l.appends, l.bytes, core.ErrUnavailable)
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

// Waiting is how much is queued or in flight.
type Waiting struct {
	Appends, MaxAppends int64
	Bytes, MaxBytes     int64
	Refused             int64 // appends, since the start
}

// Waiting returns how much is queued or in flight, in all sessions together.
func (ss *Sessions) Waiting() Waiting {
	l := &ss.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	return Waiting{Appends: l.appends, MaxAppends: maxAppends, Bytes: l.bytes, MaxBytes: maxAppendBytes, Refused: l.refused}
}
