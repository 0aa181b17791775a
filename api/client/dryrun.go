package client

// DryRun returns a client like c whose calls that write to sessions are checked
// and answered as ever, and store nothing. Its other calls that change something
// are refused, and so is all of it by a node that is too old to know of it:
// core.ErrInvalid.
func (c *Client) DryRun() *Client {
	dry := *c
	dry.dry = true
	return &dry
}
