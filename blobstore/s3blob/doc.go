// Package s3blob keeps a blobstore.Bucket in a bucket of an S3 server: the
// store of a fleet. Any server will do that has the plain calls, multipart
// uploads, ListObjectsV2 in key order, and read-after-write; conditional writes
// and versions are not needed.
//
// Writes are unconditional. Every body, and every part of a large one, carries
// its MD5, so a server refuses what was damaged on the way. Trailing checksums
// would do the same, but not every server knows them, and minio-go v7.4.1
// counts the bytes of a failed attempt into the checksum of the next.
//
// A call tries a few times over a few seconds and then returns ErrUnavailable;
// a connection on which nothing moves for a while is given up. The context can
// only shorten that. A refusal, such as a wrong key or a missing bucket, is
// ErrRefused: it says what mends it, and carries the server's code and message.
//
// An upload that is killed half-way leaves parts that nobody sees and somebody
// pays for. A lifecycle rule of the bucket should abort incomplete multipart
// uploads after a few days.
package s3blob
