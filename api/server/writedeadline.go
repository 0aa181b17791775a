package server

import (
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
