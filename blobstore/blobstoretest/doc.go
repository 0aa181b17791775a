// Package blobstoretest holds adapters to the promises of blobstore.Bucket, and
// makes buckets fail for the tests of those who use one.
package blobstoretest
