package blobstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// verifyBuffer is the read size of a verifier.
const verifyBuffer = 32 << 10

// A verifier reads src and returns the last byte only after all bytes matched ref.
type verifier struct {
	src   io.ReadCloser
	ref   Ref
	sum   hash.Hash
	size  int64
	buf   []byte // read and hashed, not yet returned; a part of array
	array [verifyBuffer]byte
	err   error // returned after buf
}

func newVerifier(src io.ReadCloser, ref Ref) *verifier {
	return &verifier{src: src, ref: ref, sum: sha256.New()}
}

func (v *verifier) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for v.err == nil && len(v.buf) < 2 {
		v.fill()
	}
	ready := v.buf
	switch {
	case v.err == nil:
		ready = v.buf[:len(v.buf)-1]
	case v.err != io.EOF || len(v.buf) == 0:
		return 0, v.err
	}
	n := copy(p, ready)
	v.buf = v.buf[n:]
	return n, nil
}

// fill reads more bytes after the one that is held back.
func (v *verifier) fill() {
	held := copy(v.array[:], v.buf)
	n, err := v.src.Read(v.array[held:])
	v.buf = v.array[:held+n]
	v.sum.Write(v.array[held : held+n])
	v.size += int64(n)
	if err == io.EOF {
		err = v.verify()
	}
	v.err = err
}

// verify returns io.EOF if the bytes match the ref.
func (v *verifier) verify() error {
	if have := Ref(v.sum.Sum(nil)); have != v.ref {
		return opError("read", v.ref, fmt.Errorf("%w: its %d bytes have the digest %s", ErrCorrupt, v.size, have))
	}
	return io.EOF
}

// Close closes the source. Bytes that were not read are not verified.
func (v *verifier) Close() error {
	if v.err == nil {
		v.err = errors.New("read of a closed blob")
	}
	v.buf = nil
	return v.src.Close()
}

func opError(op string, ref Ref, err error) error {
	return fmt.Errorf("%s %s: %w", op, ref.Key(), err)
}
