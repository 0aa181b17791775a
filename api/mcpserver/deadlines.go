package mcpserver

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// arrived returns r after its body has arrived, of which it keeps what a request may have
// and one byte more. So a slow sender delays no other.
func arrived(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(requestTime)) // fails in tests alone
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return nil, err
	}
	if len(body) <= maxRequest { // else the server reads the rest
		_ = rc.SetReadDeadline(time.Time{})
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, nil
}

// An answer is sent when it is complete, so that a slow reader delays no other.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// send gives the caller answerTime to accept the answer.
func (a *answer) send() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTime))
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	_, _ = a.body.WriteTo(a.ResponseWriter) // the caller may have left
}
