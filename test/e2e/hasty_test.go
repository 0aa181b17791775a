package e2e_test

import (
	"github.com/sesslog/sesslog/api/client"
	"net/http"
)

// A hasty transport asks the node for an answer within three seconds, whatever
// the time is that its own side has for it on a busy machine.
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
