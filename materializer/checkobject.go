package materializer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
)

// CheckObject reads the object of a snapshot or a change, and compares it with the digest
// in its key. Returns core.ErrCorrupt if it differs. It needs no manifest, and little
// memory.
func (s *Snapshots) CheckObject(ctx context.Context, key string) error {
	r, err := s.bucket.Get(ctx, key)
	if err != nil {
		return BlobError(err)
	}
	defer func() { _ = r.Close() }()
	stored := &stickyReader{Reader: r}
	sum, err := digestOfPacked(stored)
	if stored.err != nil {
		return BlobError(stored.err)
	}
	_, name, _ := strings.Cut(path.Base(key), "-")
	if name, _, _ = strings.Cut(name, "."); err == nil && fmt.Sprintf("%x", sum[:8]) != name {
		err = errors.New("its content differs from its name")
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %v: %w", key, err, core.ErrCorrupt)
	}
	return nil
}

// digestOfPacked returns the digest of the plain bytes of an object.
func digestOfPacked(packed io.Reader) (sum core.Digest, err error) {
	d, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return sum, err
	}
	defer d.Close()
	h := sha256.New()
	_, err = io.Copy(h, d)
	return core.Digest(h.Sum(nil)), err
}

// maxWindow limits what a damaged object can have the decoder allocate.
const maxWindow = 64 << 20

// A stickyReader keeps the error of a read.
type stickyReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *stickyReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
