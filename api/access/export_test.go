package access

import "time"

// SetClock replaces the clock of a store that is not in use yet.
func SetClock(ts *TokenStore, now func() time.Time) { ts.now = now }
