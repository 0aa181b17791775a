package blobstore

import "errors"

// The errors of a Bucket and of Blobs, by what the caller does next. Each is
// wrapped with the operation and the key.
var (
	// ErrNotFound: there is no object under that key, no blob under that Ref.
	ErrNotFound = errors.New("not found")
	// ErrCorrupt: the stored bytes do not match the Ref. Blobs.Rewrite repairs
	// the blob if the caller has the right bytes.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnavailable: the backend is unreachable, overloaded, failing or full.
	// Back off and retry. The outcome of a write is unknown.
	ErrUnavailable = errors.New("blob store unavailable")
	// ErrRefused: the backend rejected the request: credentials, permissions,
	// the bucket's name or the region are wrong. Retrying does not help; the
	// error names the fix. Nothing was stored.
	ErrRefused = errors.New("blob store refused the request")
	// ErrBadKey: the key, prefix or ref breaks the rules of CheckKey, or one key
	// is a parent of another. Retrying does not help.
	ErrBadKey = errors.New("bad key")
)
