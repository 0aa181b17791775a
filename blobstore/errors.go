package blobstore

import "errors"

// What can go wrong, told apart by what the caller does next. Each is wrapped
// once with the operation and the key it happened to.
var (
	// ErrNotFound: there is no object under that key, no blob under that Ref.
	ErrNotFound = errors.New("not found")
	// ErrCorrupt: the stored bytes are not those the Ref names. Keep the
	// evidence; Blobs.Rewrite repairs it for who has the true bytes.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnavailable: the backend cannot be reached, is overloaded, failing or
	// full. Back off and try again; a write may or may not have happened.
	ErrUnavailable = errors.New("blob store unavailable")
	// ErrRefused: the backend answers and will not do it: keys, rights, the
	// bucket's name or the region are wrong. Waiting does not mend it; the error
	// says what does. Nothing was stored.
	ErrRefused = errors.New("blob store refuses")
	// ErrBadKey: the key, prefix or ref breaks the rules of CheckKey, or a key
	// runs through another one. Trying again will not help.
	ErrBadKey = errors.New("bad key")
)
