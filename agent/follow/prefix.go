package follow

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const (
	// batchSize is how much of a file is sent at once, unless one line is larger.
	batchSize = 4 << 20
	// maxLine is how large a line may be; with a larger one the file is compared.
	maxLine  = 256 << 20
	edgeSize = 4 << 10
)

// edges are the first and the last few bytes of a range that starts at the
// beginning of a file.
type edges struct{ first, last []byte }

// readEdges reads the edges of the first n bytes of h.
func readEdges(h io.ReaderAt, n int64) (e edges, err error) {
	size := min(n, edgeSize)
	e.first, e.last = make([]byte, size), make([]byte, size)
	for b, at := range map[*[]byte]int64{&e.first: 0, &e.last: n - size} {
		if _, err := h.ReadAt(*b, at); err != nil && !errors.Is(err, io.EOF) {
			return e, err
		}
	}
	return e, nil
}

// append returns the edges of the range with data after it.
func (e edges) append(data []byte) edges {
	first := slices.Concat(e.first, data[:min(len(data), edgeSize)])
	last := slices.Concat(e.last, data[max(0, len(data)-edgeSize):])
	return edges{first[:min(len(first), edgeSize)], last[max(0, len(last)-edgeSize):]}
}

func (e edges) hashes() [2]uint64 { return [2]uint64{xxhash.Sum64(e.first), xxhash.Sum64(e.last)} }

// hasPrefix reports whether the file still begins with the bytes that are in the
// log. Without all, it reads only the first and the last few of them.
func (f *file) hasPrefix(h *os.File, all bool) (bool, error) {
	p := &f.place
	if !all {
		e, err := readEdges(h, p.Offset)
		return e.hashes() == p.Edge, err
	}
	digest := xxhash.New()
	n, err := io.Copy(digest, io.NewSectionReader(h, 0, p.Offset))
	if err != nil || n < p.Offset || digest.Sum64() != p.Sum {
		return false, err
	}
	f.digest = digest
	return true, nil
}

// isStable reports whether the file still has the same edges, which it returns,
// and data after them. The agent may rewrite the file while it is read; then data
// begins in the middle of a line, or mixes both versions.
func (p *place) isStable(h io.ReaderAt, data []byte) (e edges, stable bool, err error) {
	e, err = readEdges(h, p.Offset)
	if err != nil || e.hashes() != p.Edge {
		return e, false, err
	}
	stable, err = contains(h, p.Offset, data)
	return e, stable, err
}

// contains reports whether h has data at offset.
func contains(h io.ReaderAt, offset int64, data []byte) (bool, error) {
	again := make([]byte, len(data))
	n, err := h.ReadAt(again, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.Equal(again[:n], data), err
}

// readBatch reads from offset to size: at most batchSize bytes, or as many as
// contain a newline.
func readBatch(h io.ReaderAt, offset, size int64) ([]byte, error) {
	for n := int64(batchSize); ; n *= 4 {
		buf := make([]byte, min(n, size-offset))
		got, err := h.ReadAt(buf, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		buf = buf[:got]
		if int64(got) < n || n > maxLine || bytes.IndexByte(buf, '\n') >= 0 {
			return buf, nil
		}
	}
}
