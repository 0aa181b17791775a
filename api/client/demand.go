package client

import "github.com/sesslog/sesslog/api"

// Demanding returns a client like c whose reads of sessions are answered as d
// demands. Listings and writes are as before.
func (c *Client) Demanding(d api.Demand) *Client {
	asking := *c
	asking.demand = d
	return &asking
}
