package api

import "github.com/sesslog/sesslog/core/report"

// Status summarizes a node.
type Status struct {
	Node     string        `json:"node"`
	Version  string        `json:"version"`
	Log      string        `json:"log"`
	Healthy  bool          `json:"healthy"`
	Summary  string        `json:"summary"`           // one line: all is well, or what is not
	Reasons  []string      `json:"reasons,omitempty"` // what is not well, the worst first
	Uptime   float64       `json:"uptimeSeconds"`
	Sessions int           `json:"sessions"`
	Shards   []ShardStatus `json:"shards"`
	Cache    CacheStatus   `json:"cache"`
	Blobs    string        `json:"blobs"` // where they are kept
	// BlobCache describes the caches of blobs and snapshots.
	BlobCache BlobCaches `json:"blobCache"`
	// BlobPuts counts the blobs stored since the node started.
	BlobPuts BlobPuts `json:"blobPuts"`
	// Losses counts what the log was found to have lost since the node started.
	Losses report.Losses `json:"losses"`
	// Bounds are the node's limits and their use, by name.
	Bounds map[string]Bound `json:"bounds"`
}

// A Bound is how much of a resource a node uses, its limit, and how many requests
// were rejected for it since the node started.
type Bound struct {
	Used    int64 `json:"used"`
	Limit   int64 `json:"limit"`
	Refused int64 `json:"refused"`
}

// ShardStatus is one stream of the log.
type ShardStatus struct {
	Stream   string  `json:"stream"`
	Leader   string  `json:"leader,omitempty"`
	Replicas int     `json:"replicas"`
	Messages uint64  `json:"messages"`
	Bytes    uint64  `json:"bytes"`
	Limit    int64   `json:"limit"` // of bytes; 0 for none but the server's
	Full     float64 `json:"full"`  // of its room, from 0 to 1; entries are refused from 0.9 on
	Sessions uint64  `json:"sessions"`
	Lag      uint64  `json:"lag"` // records this node's materializer has yet to see
	// Work is what this node knows about the shard's garbage.
	Work report.ShardWork `json:"work"`
}

// CacheStatus is a node's cache of sessions.
type CacheStatus struct {
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	Limit    int64 `json:"limit"`
}
