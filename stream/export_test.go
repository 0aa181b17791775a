package stream

import "time"

// In tests every pause is as long as the last, so that a simulation can be
// played again.
func init() { jitter = func(d time.Duration) time.Duration { return d / 3 } }
