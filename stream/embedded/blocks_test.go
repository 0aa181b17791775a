package embedded

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/minio/highwayhash"

	"github.com/sesslog/sesslog/internal/testkit"
)

// record returns a record of a block.
func record(t *testing.T, key string, seq uint64, body int) []byte {
	t.Helper()
	const subject = "a.subject"
	b := make([]byte, recordHeader, recordHeader+len(subject)+body+recordSum)
	binary.LittleEndian.PutUint32(b, uint32(cap(b)))
	binary.LittleEndian.PutUint64(b[4:], seq)
	binary.LittleEndian.PutUint16(b[20:], uint16(len(subject)))
	b = append(append(b, subject...), make([]byte, body)...)
	sum := sha256.Sum256([]byte(key))
	h, err := highwayhash.New64(sum[:])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = h.Write(b[4:20])
	_, _ = h.Write(b[recordHeader:])
	return h.Sum(b)
}

// Each bit of the length of each record is flipped: JetStream cannot read the block then,
// and takes all memory for what it lacks.
func TestCheckBlockFindsEveryDamagedLength(t *testing.T) {
	t.Parallel()
	const key = "a-stream-1"
	for name, bodies := range map[string][]int{"small": {10, 10, 10, 10}, "large": {10, 3 * headersAtOnce, headersAtOnce - 10, 2 * headersAtOnce}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "1.blk")
			check := func(b []byte) error {
				t.Helper()
				testkit.WriteFile(t, path, b)
				return checkBlock(path, key)
			}
			var block []byte
			var starts []int
			for i, body := range bodies {
				starts = append(starts, len(block))
				block = append(block, record(t, key, uint64(1e15)+uint64(i), body)...)
			}
			if err := check(block); err != nil {
				t.Fatalf("intact: %v", err)
			}
			for i, at := range starts {
				for bit := range 31 { // the last one says that there are headers
					block[at+bit/8] ^= 1 << (bit % 8)
					if err := check(block); !errors.Is(err, errRecord) {
						t.Errorf("record %d, bit %d: %v", i, bit, err)
					}
					block[at+bit/8] ^= 1 << (bit % 8)
				}
				for _, end := range []int{at + 1, at + recordHeader, at + recordHeader + 1} {
					if err := check(block[:end]); !errors.Is(err, errRecord) {
						t.Errorf("cut off %d bytes after the start of record %d: %v", end-at, i, err)
					}
				}
			}
		})
	}
}
