package mcpserver

import (
	"io"
	"net/http"
	"time"
)

// bounded returns w and r with deadlines for the request to arrive, and for its answer
// to be accepted. The work between the two has none.
func bounded(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{}) // clear the deadline of the previous answer
	if r.Body != nil && r.Body != http.NoBody {
		_ = rc.SetReadDeadline(time.Now().Add(requestTime)) // fails in tests alone
		r = r.Clone(r.Context())
		r.Body = body{r.Body, rc}
	}
	return writer{w, rc}, r
}

// A body clears the deadline once the request has arrived. Otherwise the server would
// cancel a request that takes longer.
type body struct {
	io.ReadCloser
	rc *http.ResponseController
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// A writer fails if the caller does not accept what is written.
type writer struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(answerTime))
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
