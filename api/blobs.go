package api

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// CacheStats describes a node's cache of blobs.
type CacheStats struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Limit   int64 `json:"limit"` // in bytes; 0 if there is no cache
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	Damaged int64 `json:"damaged,omitempty"` // misses caused by corrupt files
	Failed  int64 `json:"failed,omitempty"`  // blobs that could not be written to the disk
}

// BlobCaches are a node's caches of blobs. The one on disk, if there is one, also
// has snapshots.
type BlobCaches struct {
	Memory CacheStats `json:"memory"`
	Disk   CacheStats `json:"disk"`
}

// BlobPuts are what a node stored of blobs, and what was there already.
type BlobPuts struct {
	Written       int64 `json:"written"`
	WrittenBytes  int64 `json:"writtenBytes"`
	Existing      int64 `json:"there"`
	ExistingBytes int64 `json:"thereBytes"`
}

// BlobStat is what is known about a blob without reading it.
type BlobStat struct {
	BlobInfo
	Cached bool `json:"cached"` // in this node's memory or on its disk
	// Sessions are those in this node's memory that refer to the blob. Others may.
	Sessions []core.SessionID `json:"sessions"`
}

// BlobState is the result of reading a blob.
type BlobState string

// The states of a blob.
const (
	BlobSound   BlobState = "sound"
	BlobDamaged BlobState = "damaged"
	BlobMissing BlobState = "missing"
)

// BlobReport is the result of verifying a blob.
type BlobReport struct {
	Digest   core.Digest `json:"digest"`
	State    BlobState   `json:"state"`
	Detail   string      `json:"detail,omitempty"`   // of one that was, or is, not sound
	Repaired bool        `json:"repaired,omitempty"` // it was not, and is now
	Next     string      `json:"next,omitempty"`
}

// A GCRequest says what POST /v1/blobs/gc does, who requests it, and why.
type GCRequest struct {
	Apply bool   `json:"apply,omitempty"` // do it; else only say what would be done
	Grace string `json:"grace,omitempty"` // such as "48h"; empty: the node's. Not shorter than that
	By    string `json:"by,omitempty"`
	Host  string `json:"host,omitempty"`
	Why   string `json:"why,omitempty"`
	// Gone are the signatures of logs that kept blobs in the same bucket and no
	// longer exist. A run that refuses names them.
	Gone []string `json:"gone,omitempty"`
}

// BlobInfo is one blob in a listing.
type BlobInfo struct {
	Digest   core.Digest `json:"digest"`
	Size     int64       `json:"size"`
	Modified time.Time   `json:"modified"`
}

// BlobList is an answer of GET /v1/blobs.
type BlobList struct {
	Blobs []BlobInfo `json:"blobs"`
	Next  string     `json:"next,omitempty"`
}
