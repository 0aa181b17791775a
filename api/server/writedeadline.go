package server

import (
	"net/http"
	"time"
)

// pieceSize is how much of an answer its caller must take within writeWait.
const pieceSize = 256 << 10

// A pacedWriter gives up a caller that takes nothing of its answer any more,
// however large the answer is: a stuck caller would keep its place, and what it
// was to read, for as long as it liked.
type pacedWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// paced has h answer to a caller that must take the answer.
func paced(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := &pacedWriter{ResponseWriter: w, rc: http.NewResponseController(w)}
		_ = p.rc.SetWriteDeadline(time.Time{}) // of the answer before; a writer that knows no deadlines has none
		defer p.extend()                       // for what is still to be flushed
		return h(p, r)
	}
}

func (p *pacedWriter) extend() { _ = p.rc.SetWriteDeadline(time.Now().Add(writeWait)) }

func (p *pacedWriter) Write(b []byte) (n int, err error) {
	for {
		p.extend()
		piece := b[n:min(n+pieceSize, len(b))]
		m, err := p.ResponseWriter.Write(piece)
		n += m
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
