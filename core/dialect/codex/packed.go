package codex

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
)

// Codex compresses rollouts of threads that were idle for long.

// Limits of a compressed rollout: what it may hold, in bytes and for each byte
// of it, and the memory to read it.
const (
	maxUnpacked = 1 << 30
	maxRatio    = 200
	maxWindow   = 8 << 20
)

var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// isPacked reports whether data is compressed.
func isPacked(data []byte) bool { return bytes.HasPrefix(data, zstdMagic) }

// unpacked returns what a compressed rollout holds, or data itself if that is
// not compressed. Returns core.ErrInvalid if it is corrupt, or holds more than
// 1 GiB or 200 times its size and 4 MiB.
func unpacked(data []byte) ([]byte, error) {
	if !isPacked(data) {
		return data, nil
	}
	most := min(maxUnpacked, 4<<20+maxRatio*int64(len(data)))
	out, err := unpackedUpTo(data, most+1)
	if err != nil {
		return nil, fmt.Errorf("the compressed rollout is corrupt: %v: %w", err, core.ErrInvalid)
	}
	if int64(len(out)) > most {
		return nil, fmt.Errorf("the compressed rollout holds more than %d bytes: %w", most, core.ErrInvalid)
	}
	return out, nil
}

// unpackedUpTo returns the first n bytes that data holds, or as many as can be
// read before an error.
func unpackedUpTo(data []byte, n int64) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(io.LimitReader(d, n))
}
