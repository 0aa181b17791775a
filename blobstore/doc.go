// Package blobstore keeps bytes outside the log: images and other large bodies
// as blobs, and the snapshots of sessions as named objects.
//
// The nouns:
//
//   - A Bucket keeps objects under keys. The adapters are fsblob (a directory),
//     s3blob (any S3 server) and memblob (memory, for tests). Package
//     blobstoretest checks each against the contract of Bucket.
//   - A Ref is the SHA-256 of some bytes, and so the name of a blob.
//   - Blobs keeps blobs in a Bucket, each under Ref.Key.
//   - The trash is where a sweep moves unreferenced blobs. They can still be
//     read and restored until they are purged.
//   - A Disk is a node's cache of objects read from S3. A file whose bytes do not
//     match its name counts as absent, so no crash can make it wrong. Files expire
//     a day after they were added; only reads of sessions use it.
//   - The grace period is the minimum age of a blob before it is moved to the
//     trash, and of a copy in the trash before it is purged.
//
// The promises:
//
//   - An acknowledged Put survives a crash of this process and, if the backend
//     honors flushes, of its host.
//   - An object is complete or absent. No crash, cancelled context or concurrent
//     writer makes a partial object visible to Get, Stat or List.
//   - Every write and every delete is idempotent.
//   - A read of bytes that do not match their Ref never ends with io.EOF, but
//     with ErrCorrupt.
//   - An error says what to do next: ErrNotFound, ErrCorrupt, ErrUnavailable,
//     ErrRefused or ErrBadKey. Any other error, except for those of the context,
//     needs an operator.
//
// The package does not depend on sessions: it provides the steps of a sweep, but
// does not know which blobs are garbage. It does not compress or encrypt. It has
// no conditional writes: S3 drops the condition on large uploads, and
// content-addressed keys need none. The adapters retry for seconds; a caller that
// can wait longer retries on ErrUnavailable.
package blobstore
