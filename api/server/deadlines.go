package server

import (
	"io"
	"net/http"
	"time"
)

// chunkSize is how much of an answer the caller must accept within writeTimeout.
const chunkSize = 256 << 10

// A deadlineWriter fails if the caller stops reading its answer. A stuck caller
// would otherwise hold its slot and its memory indefinitely.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// withWriteDeadline answers with h through a deadlineWriter.
func withWriteDeadline(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := &deadlineWriter{ResponseWriter: w, rc: http.NewResponseController(w)}
		_ = p.rc.SetWriteDeadline(time.Time{}) // clear the deadline of the previous answer
		defer p.extend()                       // for the final flush
		return h(p, r)
	}
}

func (p *deadlineWriter) extend() { _ = p.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (p *deadlineWriter) Write(b []byte) (n int, err error) {
	for {
		p.extend()
		piece := b[n:min(n+chunkSize, len(b))]
		m, err := p.ResponseWriter.Write(piece)
		n += m
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// The node waits for the bytes of a body for bodyGrace, longer by as much as the
// bytes that came take at minBodyRate, and for maxBodyTime in all. Its own work on
// the body does not count.
const (
	bodyGrace   = 30 * time.Second
	minBodyRate = 16 << 10 // bytes a second
	maxBodyTime = 10 * time.Minute
)

// bodyTime returns how long the node waits for a body of which n bytes have come.
func bodyTime(n int64) time.Duration {
	return min(bodyGrace+time.Duration(n/minBodyRate)*time.Second, maxBodyTime)
}

// A pacedBody is a request's body that fails if its sender is too slow.
type pacedBody struct {
	io.ReadCloser
	rc     *http.ResponseController
	n      int64
	waited time.Duration
}

// paced returns the body of r as a pacedBody. The deadline also holds for a body
// that the handler does not read: the server reads its rest after the answer.
func paced(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body
	}
	p := &pacedBody{ReadCloser: r.Body, rc: http.NewResponseController(w)}
	_ = p.rc.SetReadDeadline(time.Now().Add(bodyGrace)) // not supported by the connections of InProcessClient
	return p
}

// Read implements io.Reader.
func (p *pacedBody) Read(b []byte) (int, error) {
	began := time.Now()
	_ = p.rc.SetReadDeadline(began.Add(bodyTime(p.n) - p.waited))
	n, err := p.ReadCloser.Read(b)
	p.waited += time.Since(began)
	p.n += int64(n)
	if err == io.EOF {
		_ = p.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
