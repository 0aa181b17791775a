package client

import (
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api"
)

// A Client speaks to a node, or to one of several, see ClientOf. The zero HTTP client is http.DefaultClient; Base
// is the node's URL, such as http://127.0.0.1:7433. Its methods may be called
// from several goroutines. Their errors are *Error where the node answered, and
// core.ErrUnavailable or core.ErrUncertain where it did not.
type Client struct {
	Base  string
	Token string
	HTTP  *http.Client

	readOptions api.ReadOptions // of reads
	dry         bool            // see DryRun
	nodes       *nodes          // to ask in turn; nil for the one at Base
}

// Session returns the calls about one session.
func (c *Client) session(id string, rest string) string {
	return "/v1/sessions/" + url.PathEscape(id) + rest
}

// dialWait is how long one of several nodes has to take a connection.
const dialWait = 3 * time.Second

// ClientOf returns a client for the nodes of one log at urls, of which there is
// one at least. It speaks to one of them, and turns to the next where that takes
// no connection or answers that it can do nothing now. A write that was sent and
// not answered is core.ErrUncertain as ever, and the same again goes to the next.
func ClientOf(urls []string, token string) *Client {
	c := &Client{Base: urls[0], Token: token}
	if len(urls) == 1 {
		return c
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: dialWait, KeepAlive: 30 * time.Second}).DialContext
	c.HTTP = &http.Client{Transport: t}
	c.nodes = &nodes{urls: urls}
	return c
}

// WithReadOptions returns a client like c whose reads of sessions are answered as d
// demands. Listings and writes are as before.
func (c *Client) WithReadOptions(d api.ReadOptions) *Client {
	asking := *c
	asking.readOptions = d
	return &asking
}

// DryRun returns a client like c whose calls that write to sessions are checked
// and answered as ever, and store nothing. Its other calls that change something
// are refused, and so is all of it by a node that is too old to know of it:
// core.ErrInvalid.
func (c *Client) DryRun() *Client {
	dry := *c
	dry.dry = true
	return &dry
}
