package image

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/images"
)

// MinBlob is how many base64 characters an image must have to be stored as a
// separate blob.
const MinBlob = 1024

// A Blob is bytes on their way to a store that knows them by their digest.
type Blob struct {
	Digest core.Digest
	Bytes  []byte
}

// Externalize returns line as the log stores it. In every JSON object with
// "type":"image", a "data" of MinBlob base64 characters or more becomes
// "blob:sha256:<digest of the decoded bytes>", and so does each text in its
// "images", without a "data:…;base64," prefix. Only base64 that encoding
// reproduces exactly is replaced, so Inline restores the line byte for byte. A
// line without such images, or that is not JSON, is returned unchanged.
func Externalize(line []byte) ([]byte, []Blob) {
	if !mayHoldImage(line) {
		return line, nil
	}
	var blobs []Blob
	out, _ := images.Rewrite(line, func(data []byte) ([]byte, error) {
		if bytes.HasPrefix(data, []byte(images.AnyPrefix)) {
			return slices.Concat([]byte(images.KeepPrefix), data), nil
		}
		if len(data) < MinBlob {
			return nil, nil
		}
		raw, err := base64.StdEncoding.Strict().AppendDecode(nil, data)
		if err != nil {
			return nil, nil // not ours to touch
		}
		d := core.DigestOf(raw)
		blobs = append(blobs, Blob{d, raw})
		return []byte(images.AnyPrefix + d.String()), nil
	})
	return out, blobs
}

// mayHoldImage is a quick look for the word "image", plain or with escapes.
func mayHoldImage(line []byte) bool {
	return bytes.Contains(line, []byte("image")) || bytes.Contains(line, []byte(`\u`))
}

// Inline returns the line that Externalize was given. get returns the bytes of
// a blob; its error ends the call.
func Inline(line []byte, get func(core.Digest) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(line, []byte(images.AnyPrefix)) {
		return line, nil
	}
	return images.Rewrite(line, func(data []byte) ([]byte, error) {
		if kept, ok := bytes.CutPrefix(data, []byte(images.KeepPrefix)); ok {
			return kept, nil
		}
		d, err := blobOf(data)
		if err != nil {
			return nil, nil
		}
		raw, err := get(d)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", d, err)
		}
		return base64.StdEncoding.AppendEncode(nil, raw), nil
	})
}

// Resolve is Inline for JSON of an agent that keeps images in a store of its
// own, as "blob:sha256:<hash>": it inlines those images, too. An image for
// which get returns ErrNotFound stays a reference, as with the agent itself: an
// entry may name images in members that only a context shows to be images, and
// that Externalize therefore left alone. Any other error of get ends the call.
func Resolve(v []byte, get func(core.Digest) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(v, []byte(images.AnyPrefix)) {
		return v, nil
	}
	return images.Rewrite(v, func(data []byte) ([]byte, error) {
		own, kept := bytes.CutPrefix(data, []byte(images.KeepPrefix))
		d, err := blobOf(own)
		if err == nil {
			var raw []byte
			if raw, err = get(d); err == nil {
				return base64.StdEncoding.AppendEncode(nil, raw), nil
			}
			if !errors.Is(err, core.ErrNotFound) {
				return nil, fmt.Errorf("image %s: %w", d, err)
			}
		}
		if kept {
			return own, nil
		}
		return nil, nil
	})
}

// ImportRefs turns references to images in an agent's own store into
// references of the log, if has reports that the log has the image. Inline then
// restores the image. Other references stay. line is as the log stores it.
func ImportRefs(line []byte, has func(core.Digest) bool) ([]byte, error) {
	if !bytes.Contains(line, []byte(images.KeepPrefix+images.BlobPrefix)) {
		return line, nil
	}
	return images.Rewrite(line, func(data []byte) ([]byte, error) {
		own, ok := bytes.CutPrefix(data, []byte(images.KeepPrefix))
		d, err := blobOf(own)
		if !ok || err != nil || !has(d) {
			return nil, nil
		}
		return own, nil
	})
}

func blobOf(data []byte) (core.Digest, error) {
	if !bytes.HasPrefix(data, []byte(images.BlobPrefix)) {
		return core.Digest{}, core.ErrInvalid
	}
	return core.ParseDigest(string(data[len(images.AnyPrefix):]))
}
