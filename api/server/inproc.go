package server

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/sesslog/sesslog/api/access"
)

// inprocCaller is the caller of requests through InProcessClient.
var inprocCaller = caller{Grant: access.Grant{Scope: access.Write}, name: "this node"}

type inprocKey struct{}

// InProcessClient returns a client for a part of this process, for use with the
// address http://localhost. It reaches this Server without a network, may read
// and write all sessions, and requires neither token nor certificate. Its calls
// wait until Run runs and fail after Run returned.
func (s *Server) InProcessClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: s.inproc.dial}}
}

// withInproc marks requests of InProcessClient.
func withInproc(ctx context.Context, c net.Conn) context.Context {
	if _, ok := c.(inprocConn); ok {
		return context.WithValue(ctx, inprocKey{}, true)
	}
	return ctx
}

func isInproc(ctx context.Context) bool { return ctx.Value(inprocKey{}) != nil }

// An inprocConn is the server's end of a connection within the process.
type inprocConn struct{ net.Conn }

// A pipeListener is a net.Listener whose connections come from dial.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a dial. It implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return inprocConn{c}, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and dial. It implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "pipe"} }
