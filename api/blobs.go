package api

import (
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// CacheStats describes a node's cache of blobs.
type CacheStats = blobstore.CacheStats

// BlobCaches are a node's caches of blobs: in memory blobs alone, on disk, where
// it has one, snapshots as well.
type BlobCaches struct {
	Memory CacheStats `json:"memory"`
	Disk   CacheStats `json:"disk"`
}

// BlobPuts are what a node stored of blobs, and what was there already.
type BlobPuts = blobstore.Puts

// BlobStat is one blob, looked at.
type BlobStat struct {
	BlobInfo
	Cached bool `json:"cached"` // in this node's memory or on its disk
	// Sessions are those in this node's memory that name the blob. Others may.
	Sessions []core.SessionID `json:"sessions"`
}

// BlobState is what a look at a blob's bytes found.
type BlobState string

// The states of a blob.
const (
	BlobSound   BlobState = "sound"
	BlobDamaged BlobState = "damaged"
	BlobMissing BlobState = "missing"
)

// BlobReport is what became of a blob that was verified.
type BlobReport struct {
	Digest core.Digest `json:"digest"`
	State  BlobState   `json:"state"`
	Detail string      `json:"detail,omitempty"` // of one that was, or is, not sound
	Mended bool        `json:"mended,omitempty"` // it was not, and is now
	Next   string      `json:"next,omitempty"`
}
