package api

// Rebuilt is what a node makes of the log and can make again.
type Rebuilt struct {
	Node     string `json:"node"`
	Sessions int    `json:"sessions"` // rows
	Shards   int    `json:"shards"`   // that are read from their beginning
	Messages uint64 `json:"messages"` // in them
	Done     bool   `json:"done"`     // false where it was only asked
}
