package embedded

// A flushQueue decides which flush covers which positions of a stream. It does no
// I/O: the caller begins and ends the flushes, one at a time.
//
// JetStream stores messages in the order of their positions, and answers after it
// wrote them. So a flush that begins after the answer for a position makes that
// position and all before it durable. A flush that runs already may have read the
// file before the write, so it covers nothing that is asked for meanwhile.
type flushQueue struct {
	flushed uint64 // every position up to it is durable
	running *flush // nil if none
	waiting *flush // begins next; nil if nothing asks for it
	failed  error  // of a flush; nothing is durable after it
}

// A flush makes durable what was written before it began.
type flush struct {
	upTo uint64        // highest position that asked for it
	done chan struct{} // closed when it has ended
	err  error         // valid after done
}

// ask returns the flush that makes pos durable, or nil if pos is durable. Position 0
// stands for everything that was written before the call. After a failure it returns
// the error: what a failed fsync left in memory may never reach the disk, even if a
// later fsync succeeds.
func (q *flushQueue) ask(pos uint64) (*flush, error) {
	if pos != 0 && pos <= q.flushed {
		return nil, nil
	}
	if q.failed != nil {
		return nil, q.failed
	}
	if q.waiting == nil {
		q.waiting = &flush{done: make(chan struct{})}
	}
	q.waiting.upTo = max(q.waiting.upTo, pos)
	return q.waiting, nil
}

// begin returns the flush to run now, or nil if nothing asks for one.
func (q *flushQueue) begin() *flush {
	if q.running != nil || q.waiting == nil {
		return nil
	}
	q.running, q.waiting = q.waiting, nil
	return q.running
}

// end ends the running flush. If err is not nil, this and all later flushes fail.
func (q *flushQueue) end(err error) {
	f := q.running
	q.running = nil
	if err != nil {
		q.fail(err)
	} else {
		q.flushed = max(q.flushed, f.upTo)
	}
	f.err = err
	close(f.done)
}

// fail makes the waiting flush and all later ones fail. The first error counts.
func (q *flushQueue) fail(err error) {
	if q.failed == nil {
		q.failed = err
	}
	if q.waiting == nil {
		return
	}
	q.waiting.err = q.failed
	close(q.waiting.done)
	q.waiting = nil
}
