package engine

// TruncateWithin bounds the bytes of the sessions that Truncate sees to at a time.
func (ss *Sessions) TruncateWithin(n int64) { ss.truncateBytes = n }
