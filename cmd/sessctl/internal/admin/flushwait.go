package admin

import "time"

// noteWait says what an erasure or a redaction waits for, and how it waits less.
func (a app) noteWait(wait time.Duration) {
	if wait == 0 {
		return
	}
	a.Notef("it takes %s: nothing goes before the brokers have flushed what says so, which they do every %s as far as the node knows; where they do it sooner, say so in the node's setting nats.sync",
		wait, wait/2)
}
