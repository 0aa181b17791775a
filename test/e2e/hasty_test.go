package e2e_test

import (
	"net/http"

	"github.com/sesslog/sesslog/api/client"
)

// A hasty transport gives the node three seconds for an answer, independent of the
// timeout on its own side, which a busy machine may need.
type hasty struct{ http.RoundTripper }

func (h hasty) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Prefer", "wait=3")
	return h.RoundTripper.RoundTrip(q)
}

func hastily(c *client.Client) *client.Client {
	h := *c
	h.HTTP = &http.Client{Transport: hasty{c.HTTP.Transport}}
	return &h
}
