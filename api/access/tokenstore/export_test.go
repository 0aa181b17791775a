package tokenstore

import "time"

// SetClock replaces the clock of a store that is not in use yet.
func SetClock(ts *Store, now func() time.Time) { ts.now = now }
