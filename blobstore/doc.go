// Package blobstore keeps bytes outside the log: images and other large bodies
// as blobs, and the snapshots of sessions as named objects.
//
// The nouns:
//
//   - A Bucket keeps objects under keys. Adapters are fsblob (a directory),
//     s3blob (any S3 server) and memblob (memory, for tests); each is held to
//     the promises of Bucket by package blobstoretest.
//   - A Ref is the SHA-256 of some bytes, and so the name of a blob.
//   - Blobs keeps blobs in a Bucket, each under Ref.Key.
//   - The trash is where a sweep moves blobs that nobody names. They are still
//     read there, and can be put back, until they are deleted for good.
//   - The grace is how long a blob is left alone before it is moved there, and
//     again before it is deleted from there.
//
// The promises:
//
//   - What Put acknowledged outlives a crash of this process and, as far as the
//     backend keeps its word about flushing, of its host.
//   - An object is whole or absent. No crash, cancelled context or concurrent
//     writer makes half of one visible to Get, Stat or List.
//   - Every write and every delete may be repeated; the second does no harm.
//   - Bytes that do not hash to the Ref they were asked for are never handed
//     out to the last byte: the read ends with ErrCorrupt.
//   - An error says what to do next: ErrNotFound, ErrCorrupt, ErrUnavailable,
//     ErrRefused or ErrBadKey. Any other, but for those of the context, is for a person.
//
// The package knows nothing of sessions, so it has what a sweep is made of and
// does not know which blobs are garbage. It does not compress or encrypt; it offers no conditional writes, because S3 loses their
// condition on large uploads, and none are needed when the key says what the
// bytes are. It does not hide a failing backend either: the adapters retry for
// seconds, and who can wait longer does so on ErrUnavailable.
package blobstore
