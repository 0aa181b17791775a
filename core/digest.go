package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Digest is the SHA-256 of some bytes. Its text form is "sha256:" and 64
// lowercase hex digits.
type Digest [sha256.Size]byte

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// ParseDigest reads the text form, and nothing but the text form.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	h, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(h) != 2*len(d) || strings.ToLower(h) != h {
		return d, fmt.Errorf("%q is not sha256:<64 lowercase hex digits>: %w", clip(s, 80), ErrInvalid)
	}
	if _, err := hex.Decode(d[:], []byte(h)); err != nil {
		return Digest{}, fmt.Errorf("%q is not sha256:<64 lowercase hex digits>: %w", clip(s, 80), ErrInvalid)
	}
	return d, nil
}

// IsZero reports whether d is the zero Digest, which names nothing.
func (d Digest) IsZero() bool { return d == Digest{} }

func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// MarshalText gives the text form, empty for the zero Digest.
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return nil, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (d *Digest) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*d = Digest{}
		return nil
	}
	p, err := ParseDigest(string(b))
	if err == nil {
		*d = p
	}
	return err
}
