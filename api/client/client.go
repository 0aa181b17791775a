package client

import (
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api"
)

// A Client calls a node, or one of several (see ClientOf). Base is the node's
// URL, such as http://127.0.0.1:7433. HTTP defaults to http.DefaultClient. Its
// methods are safe for concurrent use. Errors are *Error if the node answered,
// and core.ErrUnavailable or core.ErrUncertain if it did not.
type Client struct {
	Base  string
	Token string
	HTTP  *http.Client

	readOptions api.ReadOptions // of reads
	dry         bool            // see DryRun
	nodes       *nodes          // to ask in turn; nil for the one at Base
}

// session returns the path of a call about one session: if id is empty, about the one
// that the client's share link shows.
func (c *Client) session(id string, rest string) string {
	if id == "" {
		return "/v1/shared" + rest
	}
	return "/v1/sessions/" + url.PathEscape(id) + rest
}

// dialWait is how long one of several nodes may take to accept a connection.
const dialWait = 3 * time.Second

// ClientOf returns a client for the nodes of one log at urls, of which there must
// be at least one. It calls one node and switches to the next if that is
// unreachable or unavailable. A write that was sent and not answered is
// core.ErrUncertain; a retry goes to the next node.
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

// WithReadOptions returns a copy of c whose reads of sessions follow o. Listings
// and writes are not affected.
func (c *Client) WithReadOptions(d api.ReadOptions) *Client {
	asking := *c
	asking.readOptions = d
	return &asking
}

// DryRun returns a copy of c whose writes to sessions are checked and answered as
// usual but not stored. Other calls that change something fail with
// core.ErrInvalid, as do all writes if the node is too old for dry runs.
func (c *Client) DryRun() *Client {
	dry := *c
	dry.dry = true
	return &dry
}
