// Package streams holds what the adapters of blobstore share: readers that
// hold a source to its size, and a body to its context.
package streams

import (
	"context"
	"fmt"
	"io"
)

// An Exact reads a source that must have a certain size. It ends with io.EOF
// only if the source does, right behind the last byte; and it hands out the
// last byte only then, so a consumer that counts bytes is not fooled either.
type Exact struct {
	src  io.Reader
	size int64
	left int64
	err  error
}

// Exactly returns an Exact that reads src, which must have size bytes.
func Exactly(src io.Reader, size int64) *Exact {
	e := &Exact{src: src, size: size, left: size}
	if size < 0 {
		e.err = fmt.Errorf("size %d is negative", size)
	}
	return e
}

// Err returns what is wrong with the source, as far as it was read. To a
// backend that wraps a failed read in errors of its own, it tells the two apart.
func (e *Exact) Err() error {
	if e.err == io.EOF {
		return nil
	}
	return e.err
}

func (e *Exact) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if len(p) == 0 && e.left > 0 {
		return 0, nil
	}
	n := 0
	if e.left > 0 {
		var err error
		n, err = e.src.Read(p[:min(int64(len(p)), e.left)])
		e.left -= int64(n)
		switch {
		case e.left == 0: // err is met again by the probe
		case err == io.EOF:
			e.err = fmt.Errorf("source has %d bytes instead of %d", e.size-e.left, e.size)
			return 0, e.err
		case err != nil:
			e.err = err
			return 0, e.err
		}
	}
	if e.left == 0 {
		if e.err = e.probe(); e.err != io.EOF {
			return 0, e.err
		}
	}
	if n == 0 {
		return 0, e.err
	}
	return n, nil
}

// probe looks behind the last byte.
func (e *Exact) probe() error {
	var more [1]byte
	switch _, err := io.ReadFull(e.src, more[:]); err {
	case nil:
		return fmt.Errorf("source has more than %d bytes", e.size)
	default:
		return err
	}
}

// WithContext returns a reader of src that fails once ctx has ended.
func WithContext(ctx context.Context, src io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return src.Read(p)
	})
}

// Body returns src as the body of an object: reading fails once ctx has ended,
// and errors other than io.EOF are what name makes of them.
func Body(ctx context.Context, src io.ReadCloser, name func(error) error) io.ReadCloser {
	inner := WithContext(ctx, src)
	return struct {
		io.Reader
		io.Closer
	}{
		Reader: readerFunc(func(p []byte) (int, error) {
			n, err := inner.Read(p)
			if err != nil && err != io.EOF {
				err = name(err)
			}
			return n, err
		}),
		Closer: src,
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
