package server

import (
	"io"
	"net/http"
	"time"
)

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
