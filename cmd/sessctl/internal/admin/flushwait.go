package admin

import "time"

// noteWait prints what an erasure or a redaction waits for, unless it does not wait.
func (a app) noteWait(wait time.Duration) {
	if wait == 0 {
		return
	}
	a.Notef("this takes %s: data is removed after the brokers have synced the record of it. They sync every %s; if they sync sooner, set nats.sync of the node",
		wait, wait/2)
}
