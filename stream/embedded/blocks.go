package embedded

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/minio/highwayhash"
)

// A block of JetStream is a file of records: length, sequence, time (4, 8 and 8 bytes),
// length of the subject (2), the subject, the length of the headers (4) if there are any,
// headers, body, and a checksum of 8 bytes.
//
// If the first record of a block is damaged, JetStream lists as lost every sequence from 1
// to the last one that its index names. Sequences of a log begin at about 10^15, so it
// would take all memory. Without the index, it truncates the block.
const (
	recordHeader = 22
	recordSum    = 8
	recordMost   = 32 << 20
	hasHeaders   = 1 << 31 // in the length
	notLive      = 3 << 62 // in the sequence: a deleted message, or a note of one
)

// errRecord means that a record of a block is damaged.
var errRecord = errors.New("damaged record")

// dropIndexes removes the index of each stream in dir that has a block whose first
// record is damaged. It returns their names.
func dropIndexes(dir string) (dropped []string, err error) {
	names, err := streamNames(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		msgs := filepath.Join(streamsDir(dir), name, messagesDir)
		index := filepath.Join(msgs, "index.db")
		if _, err := os.Stat(index); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		bad, err := hasDamagedStart(msgs, name)
		if err != nil {
			return dropped, err
		}
		if !bad {
			continue
		}
		if err := os.Remove(index); err != nil {
			return dropped, err
		}
		dropped = append(dropped, name)
	}
	return dropped, nil
}

// hasDamagedStart reports whether a block in msgs has a damaged record before the first
// live one.
func hasDamagedStart(msgs, stream string) (bool, error) {
	entries, err := os.ReadDir(msgs)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		i, ok := blockIndex(e.Name())
		if !ok {
			continue
		}
		err := checkStart(filepath.Join(msgs, e.Name()), fmt.Sprintf("%s-%d", stream, i))
		if errors.Is(err, errRecord) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// checkStart reads a block up to its first live record. key is that of its checksums.
func checkStart(path, key string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.Sum256([]byte(key))
	r := bufio.NewReader(f)
	if start, _ := r.Peek(3); string(start) == "cmp" { // compressed
		return nil
	}
	for {
		live, err := readRecord(r, sum[:])
		if live || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readRecord reads a record and reports whether it is a live message.
func readRecord(r io.Reader, key []byte) (live bool, err error) {
	var header [recordHeader]byte
	switch _, err := io.ReadFull(r, header[:]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, errRecord
	case err != nil:
		return false, err
	}
	length := binary.LittleEndian.Uint32(header[:])
	subject := int(binary.LittleEndian.Uint16(header[20:]))
	size := int(length&^hasHeaders) - recordHeader
	body := subject
	if length&hasHeaders != 0 {
		body += 4
	}
	if size > recordMost || size < body+recordSum {
		return false, errRecord
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, errRecord
	} else if err != nil {
		return false, err
	}
	h, err := highwayhash.New64(key)
	if err != nil {
		return false, err
	}
	for _, part := range [][]byte{header[4:20], data[:subject], data[body : size-recordSum]} {
		_, _ = h.Write(part) // it never fails
	}
	if !bytes.Equal(h.Sum(nil), data[size-recordSum:]) {
		return false, errRecord
	}
	return binary.LittleEndian.Uint64(header[4:])&notLive == 0, nil
}
