package server

import (
	"net/http"
	"time"
)

// chunkSize is how much of an answer its caller must take within writeTimeout.
const chunkSize = 256 << 10

// A deadlineWriter gives up a caller that takes nothing of its answer any more,
// however large the answer is: a stuck caller would keep its place, and what it
// was to read, for as long as it liked.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// paced has h answer to a caller that must take the answer.
func withWriteDeadline(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := &deadlineWriter{ResponseWriter: w, rc: http.NewResponseController(w)}
		_ = p.rc.SetWriteDeadline(time.Time{}) // of the answer before; a writer that knows no deadlines has none
		defer p.extend()                       // for what is still to be flushed
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
