// Package s3blob keeps a blobstore.Bucket in a bucket of an S3 server: the store
// of a cluster. The server must support multipart uploads, ListObjectsV2 in key
// order, and read-after-write consistency. Conditional writes and versioning are
// not needed.
//
// Every body, and every part of a large one, carries its MD5, so the server
// rejects bytes corrupted in transit. Trailing checksums are not used: not every
// server supports them, and minio-go v7.4.1 includes the bytes of a failed attempt
// in the checksum of the next.
//
// A call is retried for a few seconds and then returns ErrUnavailable; stalled
// connections are closed. The context can only shorten that. A rejection, such as
// a wrong key or a missing bucket, is ErrRefused: it names the fix, and the
// server's code and message.
//
// A killed upload may leave invisible parts that use storage. Configure a
// lifecycle rule that aborts incomplete multipart uploads after a few days.
package s3blob
