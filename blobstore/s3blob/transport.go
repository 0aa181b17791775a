package s3blob

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// stallTimeout is how long a connection may make no progress before it is
	// closed. It applies to each attempt of a call.
	stallTimeout = 30 * time.Second
	idleTimeout  = 20 * time.Second // below stallTimeout, which also applies to idle connections
	idlePerHost  = 32
)

func newTransport(t *tls.Config, stall time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return stallConn{conn, stall}, nil
		},
		TLSClientConfig:       t,
		TLSHandshakeTimeout:   dialTimeout,
		ExpectContinueTimeout: dialTimeout,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConns:          2 * idlePerHost,
		MaxIdleConnsPerHost:   idlePerHost,
		DisableCompression:    true, // return the bytes as stored
	}
}

// A stallConn is a connection that fails after a time without progress. Unlike a
// limit on calls, this does not depend on the size of the object.
type stallConn struct {
	net.Conn
	timeout time.Duration
}

func (c stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the deadline of a pending Read: the server does not respond
// while it receives a body.
func (c stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
