package access

import "time"

// SetClock has a book that nobody uses yet take now for the time.
func SetClock(b *Book, now func() time.Time) { b.now = now }
