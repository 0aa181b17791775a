// Package blobstoretest checks adapters against the contract of blobstore.Bucket,
// and injects faults into buckets for tests.
package blobstoretest
