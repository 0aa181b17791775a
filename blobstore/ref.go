package blobstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	refPrefix  = "sha256:"
	blobPrefix = "blobs/sha256/"
)

// A Ref names a blob by the SHA-256 of its bytes. It is a value, comparable
// with ==; the zero Ref names nothing.
type Ref [sha256.Size]byte

// RefOf returns the Ref of p.
func RefOf(p []byte) Ref { return sha256.Sum256(p) }

// ParseRef parses the output of Ref.String. It returns ErrBadKey for any other
// text, including upper case digits.
func ParseRef(s string) (Ref, error) {
	digits, found := strings.CutPrefix(s, refPrefix)
	ref, ok := parseDigits(digits)
	if !found || !ok {
		return Ref{}, fmt.Errorf("ref %q is not %q and 64 lower case hex digits: %w", clip(s), refPrefix, ErrBadKey)
	}
	return ref, nil
}

// parseDigits rejects upper case, so that a Ref has one spelling and one key.
func parseDigits(s string) (Ref, bool) {
	var ref Ref
	if len(s) != hex.EncodedLen(len(ref)) || strings.ToLower(s) != s {
		return Ref{}, false
	}
	if _, err := hex.Decode(ref[:], []byte(s)); err != nil {
		return Ref{}, false
	}
	return ref, true
}

// String returns "sha256:" and 64 lower case hex digits.
func (r Ref) String() string { return refPrefix + hex.EncodeToString(r[:]) }

// Key returns the key of the blob:
// "blobs/sha256/<first two hex digits>/<all hex digits>".
func (r Ref) Key() string {
	digits := hex.EncodeToString(r[:])
	return blobPrefix + digits[:2] + "/" + digits
}

// refOfKey is the inverse of Key.
func refOfKey(key string) (Ref, bool) {
	ref, ok := parseDigits(key[strings.LastIndexByte(key, '/')+1:])
	return ref, ok && ref.Key() == key
}

// MarshalText returns String as bytes.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRef. It leaves the Ref unchanged on an error.
func (r *Ref) UnmarshalText(text []byte) error {
	ref, err := ParseRef(string(text))
	if err != nil {
		return err
	}
	*r = ref
	return nil
}
