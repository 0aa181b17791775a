package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/sesslog/sesslog/core"
)

// nodes are the addresses that a client may call.
type nodes struct {
	urls []string
	at   atomic.Uint32 // the one that is asked first
}

// leave makes the next request call another node than the one at index at.
func (ns *nodes) leave(at uint32) { ns.turn(at, at+1) }

// turn makes the next request call node to instead of at, unless another request
// switched already.
func (ns *nodes) turn(at, to uint32) { ns.at.CompareAndSwap(at, to) }

// send sends a request to a node, and to the next node if that may help. If none
// serves it, the error is that of a node that responded, if any did.
func (c *Client) send(ctx context.Context, method, path string, q url.Values, h http.Header, body io.Reader, size int64) (*http.Response, error) {
	if c.nodes == nil {
		return c.sendTo(ctx, c.Base, method, path, q, h, body, size)
	}
	var said error
	for left := len(c.nodes.urls); ; left-- {
		at := c.nodes.at.Load()
		base := c.nodes.urls[int(at)%len(c.nodes.urls)]
		r, err := c.sendTo(ctx, base, method, path, q, h, body, size)
		if err == nil || !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) {
			return r, err
		}
		c.nodes.leave(at)
		if errors.Is(err, core.ErrUncertain) {
			return nil, err
		}
		if _, responded := errors.AsType[*Error](err); responded {
			said = err
		}
		if left == 1 || ctx.Err() != nil || !rewound(body, err) {
			return nil, cmp.Or(said, err)
		}
	}
}

// rewound reports whether body can be sent again from its beginning after err.
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
