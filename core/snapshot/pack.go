package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
)

// frameSize is the plain size of a zstd frame of a snapshot. A part of a large
// snapshot can be read without the rest.
const frameSize = 256 << 10

// PackPart packs plain, which has the size in p, verifies the result by unpacking
// it, and sets p.Packed.
func PackPart(p *core.Part, plain []byte) ([]byte, error) {
	packed, err := Pack(plain)
	if err != nil {
		return nil, fmt.Errorf("compress snapshot %s: %w", p.Object, err)
	}
	again, err := UnpackFrames(packed, *p, nil)
	if err != nil || !bytes.Equal(again, plain) {
		return nil, fmt.Errorf("snapshot %s does not unpack to its input; nothing was stored: %w", p.Object, errors.Join(err, core.ErrCorrupt))
	}
	p.Packed = core.DigestOf(packed)
	return packed, nil
}

// Pack returns plain as seekable zstd.
func Pack(plain []byte) ([]byte, error) {
	e, err := seekable.NewEncoder(snapshotEncoder())
	if err != nil {
		return nil, err
	}
	var out []byte
	for len(plain) > 0 {
		n := min(frameSize, len(plain))
		frame, err := e.Encode(plain[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, frame...)
		plain = plain[n:]
	}
	table, err := e.EndStream()
	return append(out, table...), err
}

var snapshotEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// Prefix returns the prefix of the keys of a session's snapshots.
func Prefix(log string, id core.SessionID) string {
	return fmt.Sprintf("snapshots/%s/%s/", log, id)
}
