// Package inside sends requests to a handler in this process, for parts of a node that use
// the API with the rights of the caller that they serve.
package inside

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// A Transport sends requests to API. The handler answers as it does over the network: with
// the same rights, limits and audit records.
type Transport struct {
	API http.Handler
	Of  *http.Request // on whose behalf: its address and its certificate are the caller's
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.TLS, r.RequestURI = t.Of.RemoteAddr, t.Of.TLS, r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	out, in := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: in, begun: make(chan struct{})}
	stop := context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		defer func() {
			w.WriteHeader(http.StatusOK)
			if recover() != nil { // the response ended early
				_ = in.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			_ = in.Close()
		}()
		t.API.ServeHTTP(w, r)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.sent, Body: out, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}, nil
}

// A responseWriter is the answer of a request of inside. Writing waits until the answer
// is read.
type responseWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun        chan struct{}
	once         sync.Once
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher: nothing is buffered.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
