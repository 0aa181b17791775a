package web

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// inside sends requests to a handler in this process. The handler answers as it does
// over the network: with the same rights, limits and audit records.
type inside struct {
	api http.Handler
	of  *http.Request // the browser's: its address and its certificate are the caller's
}

// RoundTrip implements http.RoundTripper.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.TLS, r.RequestURI = t.of.RemoteAddr, t.of.TLS, r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	out, in := io.Pipe()
	w := &insideWriter{header: http.Header{}, body: in, begun: make(chan struct{})}
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
		t.api.ServeHTTP(w, r)
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

// An insideWriter is the answer of a request of inside. Writing waits until the answer
// is read.
type insideWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun        chan struct{}
	once         sync.Once
}

// Header implements http.ResponseWriter.
func (w *insideWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *insideWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write implements http.ResponseWriter.
func (w *insideWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher: nothing is buffered.
func (w *insideWriter) Flush() { w.WriteHeader(http.StatusOK) }
