// Package memblob keeps a blobstore.Bucket in memory, for tests and as the simplest
// implementation of its contract.
package memblob
