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
	// stallTimeout is how long a connection may stand still, be it for a slow
	// answer or a dead peer, before it is given up. A call that meets nothing
	// else takes that as often as it is tried.
	stallTimeout = 30 * time.Second
	idleTimeout  = 20 * time.Second // below stallTimeout, which idle connections meet, too
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
		DisableCompression:    true, // the bytes stored are the bytes wanted
	}
}

// A stallConn is a connection that fails when nothing moves for so long. A
// limit on whole calls would have to fit the largest object over the slowest
// line; this one fits all.
type stallConn struct {
	net.Conn
	most time.Duration
}

func (c stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write puts off the end of a pending Read, too: while a body goes out, the
// server has nothing to say.
func (c stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
