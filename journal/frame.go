package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/sesslog/sesslog/core"
)

// A file is magic, and then frames: the payload's length and CRC-32C, and the
// CRC-32C of these eight bytes, little endian, and the payload. The checked
// length tells a frame that was cut off from one that was damaged.
const (
	magic     = "SESSJRN1"
	headSize  = 12
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// appendFrame appends the frame of payload to b.
func appendFrame(b, payload []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, sum(payload))
	b = binary.LittleEndian.AppendUint32(b, sum(b[at:at+8]))
	return append(b, payload...)
}

// scan gives f the payload of each frame of a file and returns where the whole
// ones end. What is behind that is a frame whose writing was cut off, which
// never counted. core.ErrCorrupt where the bytes were something else.
func scan(file []byte, f func(payload []byte, size int) error) (end int, err error) {
	if len(file) < len(magic) && magic[:len(file)] == string(file) {
		return 0, nil
	}
	if !bytes.HasPrefix(file, []byte(magic)) {
		return 0, fmt.Errorf("it does not begin with %s: %w", magic, core.ErrCorrupt)
	}
	at := len(magic)
	for {
		payload, torn, err := next(file[at:])
		if err != nil {
			return at, fmt.Errorf("at byte %d: %w", at, err)
		}
		if torn {
			return at, nil
		}
		size := headSize + len(payload)
		if err := f(payload, size); err != nil {
			return at, fmt.Errorf("at byte %d: %w", at, err)
		}
		at += size
	}
}

// next returns the payload of the first frame of b, or that there is no whole
// one.
func next(b []byte) (payload []byte, torn bool, err error) {
	if len(b) < headSize || blank(b) {
		return nil, true, nil
	}
	size := binary.LittleEndian.Uint32(b)
	if sum(b[:8]) != binary.LittleEndian.Uint32(b[8:]) || size > maxRecord {
		return nil, false, fmt.Errorf("the length of an entry is damaged: %w", core.ErrCorrupt)
	}
	if int64(len(b)) < headSize+int64(size) {
		return nil, true, nil
	}
	payload = b[headSize : headSize+int(size)]
	if sum(payload) == binary.LittleEndian.Uint32(b[4:]) {
		return payload, false, nil
	}
	// A file system may make a file longer before its bytes are there. No payload
	// ends with a zero.
	if len(b) == headSize+int(size) && payload[size-1] == 0 {
		return nil, true, nil
	}
	return nil, false, fmt.Errorf("an entry is damaged: %w", core.ErrCorrupt)
}

// blank reports whether b is nothing but zeros, which no frame is.
func blank(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
