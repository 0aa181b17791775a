package streams_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sesslog/sesslog/blobstore/internal/streams"
)

func TestExactRejectsWrongSize(t *testing.T) {
	t.Parallel()
	ways := map[string]func(io.Reader) io.Reader{
		"plain":       func(r io.Reader) io.Reader { return r },
		"one by one":  iotest.OneByteReader,
		"data at EOF": iotest.DataErrReader,
		"by halves":   iotest.HalfReader,
	}
	for way, read := range ways {
		for _, size := range []int{0, 1, 2, 1000} {
			p := bytes.Repeat([]byte("x"), size)
			exact := streams.Exactly(read(bytes.NewReader(p)), int64(size))
			if have, err := io.ReadAll(exact); err != nil || !bytes.Equal(have, p) || exact.Err() != nil {
				t.Errorf("%s: %d of %d bytes, %v, %v", way, len(have), size, err, exact.Err())
			}
			for _, wrong := range []int{-1, size - 1, size + 1} {
				exact := streams.Exactly(read(bytes.NewReader(p)), int64(wrong))
				// A consumer that knows the size may never read to io.EOF.
				if n, err := io.ReadFull(exact, make([]byte, max(wrong, 1))); err == nil || exact.Err() == nil {
					t.Errorf("%s: %d bytes accepted as %d: %d, %v, %v", way, size, wrong, n, err, exact.Err())
				}
			}
		}
	}
}

func TestExactReturnsSourceError(t *testing.T) {
	t.Parallel()
	fault := errors.New("a fault")
	for _, at := range []int{0, 3, 5} {
		exact := streams.Exactly(io.MultiReader(strings.NewReader("12345"[:at]), iotest.ErrReader(fault)), 5)
		if _, err := io.ReadAll(exact); !errors.Is(err, fault) || !errors.Is(exact.Err(), fault) {
			t.Errorf("after %d bytes: %v, %v", at, err, exact.Err())
		}
	}
}
