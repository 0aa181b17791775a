package blobstore

import (
	"fmt"
	"strings"
)

// The limits of a key. S3 allows 1024 bytes for key and prefix together, file
// systems 255 for a name.
const (
	MaxKey     = 512
	MaxSegment = 255
)

// CheckKey returns ErrBadKey unless key can name an object: 1 to MaxKey bytes,
// segments of 1 to MaxSegment bytes separated by "/", each of A-Z, a-z, 0-9, "_",
// "-" and ".", and not starting with ".". So a valid key is safe as a relative
// path, and adapters may use names that start with ".".
//
// Keys are case-sensitive. File systems that fold case would confuse keys that
// differ in case only; the keys of this package never do.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("key is empty: %w", ErrBadKey)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("key %q has %d bytes, %d are allowed: %w", clip(key), len(key), MaxKey, ErrBadKey)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "":
			return fmt.Errorf("key %q has an empty segment: %w", clip(key), ErrBadKey)
		case len(segment) > MaxSegment:
			return fmt.Errorf("key %q has a segment of %d bytes, %d are allowed: %w", clip(key), len(segment), MaxSegment, ErrBadKey)
		case segment[0] == '.':
			return fmt.Errorf("key %q has a segment that begins with a dot: %w", clip(key), ErrBadKey)
		}
		for i := range len(segment) {
			if !isKeyByte(segment[i]) {
				return fmt.Errorf("key %q has %q, only A-Z a-z 0-9 _ - . are allowed between slashes: %w",
					clip(key), segment[i], ErrBadKey)
			}
		}
	}
	return nil
}

// CheckPrefix returns ErrBadKey unless some key begins with prefix.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// clip shortens a key for an error message.
func clip(key string) string {
	const most = 100
	if len(key) <= most {
		return key
	}
	return key[:most] + "…"
}
