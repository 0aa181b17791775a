// Package inside sends requests to a handler in this process, for parts of a node that use
// the API with the rights of the caller that they serve.
package inside

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/sesslog/sesslog/internal/memory"
)

// A Transport sends requests to API. The handler answers as it does over the network: with
// the same rights, limits and audit records. What is read of the answer counts against the
// memory lease in the context of the request Of, if there is one.
type Transport struct {
	API http.Handler
	Of  *http.Request // on whose behalf: its address and its certificate are the caller's
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(memory.With(ctx, nil)) // the handler takes its own leases
	r.RemoteAddr, r.TLS, r.RequestURI = t.Of.RemoteAddr, t.Of.TLS, r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	out, in := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: in, begun: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = out.CloseWithError(ctx.Err()) })
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
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.sent, Request: r,
		Body:  countedBody(ctx, out, w.sent, memory.Of(t.Of.Context())),
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
