package engine

// TruncateWithin limits the bytes of the sessions that Truncate processes at a time.
func (ss *Sessions) TruncateWithin(n int64) { ss.truncateBytes = n }
