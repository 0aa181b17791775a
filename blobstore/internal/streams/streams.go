package streams

import (
	"context"
	"fmt"
	"io"
)

// An Exact reads a source that must have an exact size, and fails if the source is
// shorter or longer. It checks that the source ends before it returns the last
// byte, so the check also works for consumers that count bytes.
type Exact struct {
	src  io.Reader
	size int64
	left int64
	err  error
}

// Exactly returns an Exact that reads size bytes from src.
func Exactly(src io.Reader, size int64) *Exact {
	e := &Exact{src: src, size: size, left: size}
	if size < 0 {
		e.err = fmt.Errorf("size %d is negative", size)
	}
	return e
}

// Err returns the error of the source, or nil. It lets an adapter distinguish a
// failed source from a failed backend.
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
		case e.left == 0: // probe sees err again
		case err == io.EOF:
			e.err = fmt.Errorf("source has %d bytes, want %d", e.size-e.left, e.size)
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

// probe returns io.EOF if the source ends after the last byte.
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

// Body returns src as the body of an object: reads fail once ctx has ended, and
// errors other than io.EOF are mapped by mapError.
func Body(ctx context.Context, src io.ReadCloser, mapError func(error) error) io.ReadCloser {
	inner := WithContext(ctx, src)
	return struct {
		io.Reader
		io.Closer
	}{
		Reader: readerFunc(func(p []byte) (int, error) {
			n, err := inner.Read(p)
			if err != nil && err != io.EOF {
				err = mapError(err)
			}
			return n, err
		}),
		Closer: src,
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
