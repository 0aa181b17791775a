package durablestreams

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// An appendRequest is a checked request to append, to close, or both.
type appendRequest struct {
	path        string
	contentType string
	line        *bytestream.Line // nil to close only
	close       bool
	seq         *string
	producer    *bytestream.Producer

	answer answer
	done   chan struct{}
}

// An answer is how an append ended: a status with headers, or an error.
type answer struct {
	status int
	header map[string]string
	err    error
}

func (h *Handler) append(w http.ResponseWriter, r *http.Request, path string) error {
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return err
	}
	defer release()
	q, err := appendRequestOf(r, path, body)
	if err != nil {
		return err
	}
	if err := h.checkSize(q.line); err != nil {
		return err
	}
	f, err := h.find(r.Context(), path, h.cfg.Cached)
	sess := f.sess
	if err == nil && sess == nil { // what is cached may be outdated
		sess, err = h.live(r.Context(), path)
	}
	if err != nil {
		return err
	}
	if err := h.submit(r.Context(), sess, q); err != nil {
		return err
	}
	if q.answer.err != nil {
		return q.answer.err
	}
	h.touchLater(sess)
	h.appended(sess.ID(), path)
	for name, value := range q.answer.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(q.answer.status)
	return nil
}

func appendRequestOf(r *http.Request, path string, body []byte) (*appendRequest, error) {
	q := &appendRequest{path: path, close: wantsClosed(r), done: make(chan struct{})}
	var err error
	if q.producer, err = producerOf(r); err != nil {
		return nil, err
	}
	if q.seq, err = seqOf(r); err != nil {
		return nil, err
	}
	if len(body) == 0 {
		if !q.close {
			return nil, refuse(http.StatusBadRequest, "the body is empty")
		}
		return q, nil
	}
	if q.contentType, err = contentTypeOf(r); err != nil {
		return nil, err
	}
	if q.contentType == "" {
		return nil, refuse(http.StatusBadRequest, "the request has no Content-Type")
	}
	if q.line, err = bodyLine(q.contentType, body); err != nil {
		return nil, err
	}
	if q.line == nil {
		return nil, refuse(http.StatusBadRequest, "the array is empty")
	}
	return q, nil
}

// A draft is the state of a stream after requests that are about to be stored.
type draft struct {
	config    bytestream.Config
	tail      int64
	closed    bool
	closedBy  *bytestream.Producer
	seq       *string
	producers map[string]bytestream.Producer // that the requests changed
	before    map[string]bytestream.Producer // of the stream
}

func newDraft(s *stream) *draft {
	return &draft{
		config: s.config, tail: s.state.Tail, closed: s.state.Closed, closedBy: s.state.ClosedBy, seq: s.state.Seq,
		producers: map[string]bytestream.Producer{}, before: s.state.Producers,
	}
}

func (d *draft) producer(id string) (bytestream.Producer, bool) {
	p, ok := d.producers[id]
	if !ok {
		p, ok = d.before[id]
	}
	return p, ok
}

// decide returns the line that q adds to the stream, nil if it adds none, and its answer
// once that line is stored.
func (d *draft) decide(q *appendRequest) (*bytestream.Line, answer) {
	known, isKnown := bytestream.Producer{}, false
	if q.producer != nil {
		known, isKnown = d.producer(q.producer.ID)
		if isKnown && q.producer.Epoch < known.Epoch {
			return nil, answer{err: refuse(http.StatusForbidden, "producer %.64q has epoch %d, epoch %d is over", known.ID, known.Epoch, q.producer.Epoch).
				with(headerProducerEpoch, strconv.FormatInt(known.Epoch, 10))}
		}
		if isKnown && q.producer.Epoch == known.Epoch && q.producer.Seq <= known.Seq {
			return nil, d.accepted(q, known, http.StatusNoContent)
		}
	}
	if d.closed {
		if q.line == nil && q.producer == nil {
			return nil, d.accepted(q, known, http.StatusNoContent)
		}
		return nil, answer{err: d.conflict("the stream is closed").with(headerClosed, "true")}
	}
	if q.line != nil && !sameType(d.config.ContentType, q.contentType) {
		return nil, answer{err: d.conflict("the stream has content type %s, not %s", d.config.ContentType, q.contentType)}
	}
	if q.producer != nil {
		if err := d.checkNext(*q.producer, known, isKnown); err != nil {
			return nil, answer{err: err}
		}
	}
	if q.seq != nil && d.seq != nil && *q.seq <= *d.seq {
		return nil, answer{err: d.conflict("%s %.64q does not follow %.64q", headerSeq, *q.seq, *d.seq)}
	}
	return d.add(q)
}

// conflict is a 409 that says where the stream ends.
func (d *draft) conflict(format string, args ...any) *refusal {
	return refuse(http.StatusConflict, format, args...).with(headerNext, formatOffset(d.tail))
}

// checkNext returns why p is not the producer's next request, or nil.
func (d *draft) checkNext(p, known bytestream.Producer, isKnown bool) error {
	want := int64(0)
	switch {
	case isKnown && p.Epoch == known.Epoch:
		want = known.Seq + 1
	case isKnown && p.Seq != 0:
		return refuse(http.StatusBadRequest, "a new epoch begins with %s 0", headerProducerSeq)
	}
	if p.Seq == want {
		return nil
	}
	return d.conflict("%s %d is expected, not %d", headerProducerSeq, want, p.Seq).
		with(headerExpectedSeq, strconv.FormatInt(want, 10)).with(headerReceivedSeq, strconv.FormatInt(p.Seq, 10))
}

func (d *draft) add(q *appendRequest) (*bytestream.Line, answer) {
	l := bytestream.Line{Type: bytestream.TypeClose}
	status := http.StatusNoContent
	if q.line != nil {
		l = *q.line
		l.Closed = q.close
		if q.producer != nil {
			status = http.StatusOK
		}
	}
	l.Seq, l.Producer = q.seq, q.producer
	d.tail += l.Length
	if q.seq != nil {
		d.seq = q.seq
	}
	var now bytestream.Producer
	if q.producer != nil {
		now = *q.producer
		d.producers[now.ID] = now
	}
	if q.close {
		d.closed, d.closedBy = true, q.producer
	}
	return &l, d.accepted(q, now, status)
}

// accepted is the answer to a request that is stored, by a producer whose last request is
// known.
func (d *draft) accepted(q *appendRequest, known bytestream.Producer, status int) answer {
	a := answer{status: status, header: map[string]string{headerNext: formatOffset(d.tail)}}
	if q.producer != nil {
		a.header[headerProducerEpoch] = strconv.FormatInt(known.Epoch, 10)
		a.header[headerProducerSeq] = strconv.FormatInt(known.Seq, 10)
	}
	if d.closed {
		a.header[headerClosed] = "true"
	}
	return a
}

const (
	// maxWaiting bounds the requests that wait for one stream, maxBatch and maxBatchBytes
	// those that share a record, which has at least one.
	maxWaiting    = 1000
	maxBatch      = 100
	maxBatchBytes = 4 << 20
	// batchTimeout is how long requests may take to be stored.
	batchTimeout = 35 * time.Second
)

// A queue is the requests for one stream that wait while others are stored.
type queue struct {
	waiting []*appendRequest
}

// submit stores q with the requests that arrive meanwhile, and waits for its answer.
func (h *Handler) submit(ctx context.Context, sess *engine.Session, q *appendRequest) error {
	h.mu.Lock()
	c := h.queues[sess.ID()]
	first := c == nil
	if first {
		c = &queue{}
		h.queues[sess.ID()] = c
	}
	if len(c.waiting) >= maxWaiting {
		h.mu.Unlock()
		return errBusy
	}
	c.waiting = append(c.waiting, q)
	h.mu.Unlock()
	if first {
		// The lease of the first request ends with that request, the queue does not.
		go h.store(memory.With(context.WithoutCancel(ctx), nil), sess, c)
	}
	select {
	case <-q.done:
		return nil
	case <-ctx.Done(): // its body counts no longer
		h.mu.Lock()
		defer h.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(other *appendRequest) bool { return other == q })
		return ctx.Err()
	}
}

// next takes the requests from the queue that are stored next. The caller holds Handler.mu.
func (c *queue) next() []*appendRequest {
	var n int
	var size int64
	for n < min(len(c.waiting), maxBatch) {
		if l := c.waiting[n].line; l != nil {
			size += l.Length
		}
		if n > 0 && size > maxBatchBytes {
			break
		}
		n++
	}
	batch := slices.Clone(c.waiting[:n])
	c.waiting = slices.Delete(c.waiting, 0, n)
	return batch
}

// store stores the requests of a queue until there are none.
func (h *Handler) store(ctx context.Context, sess *engine.Session, c *queue) {
	for {
		h.mu.Lock()
		batch := c.next()
		if len(batch) == 0 {
			delete(h.queues, sess.ID())
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		if err := h.storeBatch(ctx, sess, batch); err != nil {
			for _, q := range batch {
				q.answer = answer{err: err}
			}
		}
		for _, q := range batch {
			close(q.done)
		}
	}
}

// storeBatch decides requests and stores those that are accepted as one record. If another
// record came first, it decides them again. It also does so before it refuses all of them
// if its state may lag.
func (h *Handler) storeBatch(ctx context.Context, sess *engine.Session, batch []*appendRequest) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	fresh := false
	for try := 1; ; try++ {
		var lines [][]byte
		var at core.Cursor
		err := h.view(sess, func(st *core.State, s *stream) error {
			at = st.Cursor()
			lines = h.decideAll(st, s, batch)
			return nil
		})
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			_, err := sess.Append(ctx, engine.Append{After: &at, Exact: true, Lines: lines})
			if !isRaced(err) || try >= maxTries {
				return err
			}
			fresh = false
		}
		if fresh {
			return nil
		}
		if err := sess.Refresh(ctx); err != nil {
			return err
		}
		fresh = true
	}
}

// decideAll returns the lines that requests add to a stream, and sets their answers.
func (h *Handler) decideAll(st *core.State, s *stream, batch []*appendRequest) (lines [][]byte) {
	isGone := s.state.Deleted || st.Deleted != nil || h.isExpired(st.ID, s)
	d := newDraft(s)
	for _, q := range batch {
		if isGone {
			q.answer = answer{err: errNoStream(q.path)}
			continue
		}
		var l *bytestream.Line
		if l, q.answer = d.decide(q); l == nil {
			continue
		}
		lines = append(lines, h.stamped(*l))
	}
	return lines
}
