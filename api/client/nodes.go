package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
)

// nodes are where a client may ask.
type nodes struct {
	urls []string
	at   atomic.Uint32 // the one that is asked first
}

// leave has the next request ask another node than the one at.
func (ns *nodes) leave(at uint32) { ns.turn(at, at+1) }

// turn has the next request ask the node to instead of the one at, unless another
// request has turned away from that already.
func (ns *nodes) turn(at, to uint32) { ns.at.CompareAndSwap(at, to) }

// send sends a request to a node, and to the next where that is of use.
func (c *Client) send(ctx context.Context, method, path string, q url.Values, h http.Header, body io.Reader, size int64) (*http.Response, error) {
	if c.nodes == nil {
		return c.sendTo(ctx, c.Base, method, path, q, h, body, size)
	}
	for left := len(c.nodes.urls); ; left-- {
		at := c.nodes.at.Load()
		base := c.nodes.urls[int(at)%len(c.nodes.urls)]
		r, err := c.sendTo(ctx, base, method, path, q, h, body, size)
		if err == nil || !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) {
			return r, err
		}
		c.nodes.leave(at)
		if left == 1 || ctx.Err() != nil || errors.Is(err, core.ErrUncertain) || !rewound(body, err) {
			return nil, err
		}
	}
}

// rewound reports whether body can be sent again from its beginning, after err.
func rewound(body io.Reader, err error) bool {
	if body == nil || unsent(err) {
		return true
	}
	s, ok := body.(io.Seeker)
	if !ok {
		return false
	}
	_, err = s.Seek(0, io.SeekStart)
	return err == nil
}
