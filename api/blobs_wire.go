package api

import "github.com/sesslog/sesslog/blobstore"

// CacheFigures are how a node's cache of blobs fares.
type CacheFigures = blobstore.CacheFigures

// BlobCaches are a node's caches of blobs: in memory blobs alone, on disk, where
// it has one, snapshots as well.
type BlobCaches struct {
	Memory CacheFigures `json:"memory"`
	Disk   CacheFigures `json:"disk"`
}
