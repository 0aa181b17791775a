package secrets

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
)

// maxUnpacked bounds a compressed file, in bytes.
const maxUnpacked = 512 << 20

// MaskFile returns a file of a session that has several, as it may leave the host. A
// file without lines is whole. A compressed one is returned uncompressed, if it is
// searched at all.
func (p Policy) MaskFile(path string, whole bool, data []byte) ([]byte, error) {
	switch {
	case p.Mode != Masked:
		return data, nil
	case strings.HasSuffix(path, ".zst"):
		lines, err := unpack(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return p.Rules.Mask(lines), nil
	case whole:
		return p.Rules.MaskText(data), nil
	}
	return p.Rules.Mask(data), nil
}

func unpack(data []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	data, err = io.ReadAll(io.LimitReader(d, maxUnpacked+1))
	if err == nil && len(data) > maxUnpacked {
		err = core.ErrTooLarge
	}
	return data, err
}
