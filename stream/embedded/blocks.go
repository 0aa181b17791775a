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
// If JetStream cannot read a block by its index, and a record that the index does not count
// any more or the first one that it counts is damaged, it lists as lost every sequence from 1
// to the last one that the index names. It cannot if the length of any record is damaged, also
// if the record only ends beyond the block. If a record has a sequence that is too high, it
// lists all up to that one. Sequences of a log begin at about 10^15, so it would take all memory.
// Without the index, it checks every record, and truncates the block.
const (
	recordHeader = 22
	recordSum    = 8
	recordMost   = 32 << 20
	hasHeaders   = 1 << 31 // in the length
	erased       = 1 << 63 // in the sequence: a deleted message
	tombstone    = 1 << 62 // in the sequence: a note of one
)

// errRecord means that a record of a block is damaged.
var errRecord = errors.New("damaged record")

// dropIndexes removes the index of each stream in dir that has a block with a record
// that would take all memory. It returns their names.
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
		bad, err := hasDamagedBlock(msgs, name)
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

// hasDamagedBlock reports whether a block in msgs has a damaged record before the first
// live one, or a damaged length or sequence.
func hasDamagedBlock(msgs, stream string) (bool, error) {
	entries, err := os.ReadDir(msgs)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		i, ok := blockIndex(e.Name())
		if !ok {
			continue
		}
		err := checkBlock(filepath.Join(msgs, e.Name()), fmt.Sprintf("%s-%d", stream, i))
		if errors.Is(err, errRecord) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// checkBlock reads a block up to its first live record, and the headers of the others.
// key is that of its checksums.
func checkBlock(path, key string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.Sum256([]byte(key))
	r := bufio.NewReaderSize(f, headersAtOnce)
	if start, _ := r.Peek(3); string(start) == "cmp" { // compressed
		return nil
	}
	for {
		seq, err := readRecord(r, sum[:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if seq&(erased|tombstone) == 0 {
			return checkHeaders(f, r, sum[:], seq)
		}
	}
}

// headersAtOnce is how much is read at a time for the headers of records. Of a record that
// is larger, nothing else is read.
const headersAtOnce = 8 << 10

// checkHeaders reads the headers of the records of f after the one with sequence last,
// from where r is, and the whole record if its sequence is not the next one. JetStream
// notices other damage when it reads a record.
func checkHeaders(f *os.File, r *bufio.Reader, key []byte, last uint64) error {
	for {
		header, err := r.Peek(recordHeader)
		if errors.Is(err, io.EOF) && len(header) == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errRecord
		}
		if err != nil {
			return err
		}
		size, _, _, err := sizes(header)
		if err != nil {
			return err
		}
		if seq := binary.LittleEndian.Uint64(header[4:]); seq == last+1 {
			last = seq
			if err := skip(f, r, recordHeader+size); err != nil {
				return err
			}
			continue
		}
		seq, err := readRecord(r, key)
		if err != nil {
			return err
		}
		if seq&tombstone == 0 {
			last = max(last, seq&^erased)
		}
	}
}

// skip moves r, which reads f, by n bytes. Returns errRecord if f has not so many.
func skip(f *os.File, r *bufio.Reader, n int) error {
	if n <= r.Buffered() {
		_, err := r.Discard(n)
		return err
	}
	at, err := f.Seek(int64(n-r.Buffered()), io.SeekCurrent)
	if err != nil {
		return err
	}
	r.Reset(f)
	info, err := f.Stat()
	if err == nil && at > info.Size() {
		err = errRecord
	}
	return err
}

// sizes returns the size of a record without its header, and the sizes of its subject and
// of what precedes its headers and body.
func sizes(header []byte) (size, subject, body int, err error) {
	length := binary.LittleEndian.Uint32(header)
	subject = int(binary.LittleEndian.Uint16(header[20:]))
	size = int(length&^hasHeaders) - recordHeader
	body = subject
	if length&hasHeaders != 0 {
		body += 4
	}
	if size > recordMost || size < body+recordSum {
		return 0, 0, 0, errRecord
	}
	return size, subject, body, nil
}

// readRecord reads a record and returns its sequence.
func readRecord(r io.Reader, key []byte) (seq uint64, err error) {
	var header [recordHeader]byte
	switch _, err := io.ReadFull(r, header[:]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, errRecord
	case err != nil:
		return 0, err
	}
	size, subject, body, err := sizes(header[:])
	if err != nil {
		return 0, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errRecord
	} else if err != nil {
		return 0, err
	}
	h, err := highwayhash.New64(key)
	if err != nil {
		return 0, err
	}
	for _, part := range [][]byte{header[4:20], data[:subject], data[body : size-recordSum]} {
		_, _ = h.Write(part) // it never fails
	}
	if !bytes.Equal(h.Sum(nil), data[size-recordSum:]) {
		return 0, errRecord
	}
	return binary.LittleEndian.Uint64(header[4:]), nil
}
