package core

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core/internal/images"
)

// Blobs returns the digests of the images that the session's lines keep
// elsewhere, and of its original, sorted, each once.
func (s *State) Blobs() []Digest {
	seen := map[Digest]bool{}
	for i := range s.Entries {
		for _, d := range BlobsOf(s.Entries[i].Line) {
			seen[d] = true
		}
	}
	if !s.Origin.Original.IsZero() {
		seen[s.Origin.Original] = true
	}
	out := make([]Digest, 0, len(seen))
	for d := range seen {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Digest) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// BlobsOf returns the digests of the images that line keeps elsewhere.
func BlobsOf(line []byte) []Digest {
	if !bytes.Contains(line, []byte(images.BlobPrefix)) {
		return nil
	}
	var ds []Digest
	_, _ = images.Rewrite(line, func(data []byte) ([]byte, error) {
		if own, ok := bytes.CutPrefix(data, []byte(images.AnyPrefix)); ok {
			if d, err := ParseDigest(string(own)); err == nil {
				ds = append(ds, d)
			}
		}
		return nil, nil
	})
	return ds
}
