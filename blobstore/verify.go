package blobstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// verifyBuffer is how much a verifier reads at a time.
const verifyBuffer = 32 << 10

// A verifier hands out the bytes of src, the last one only after all of them
// turned out to be those ref names.
type verifier struct {
	src  io.ReadCloser
	ref  Ref
	sum  hash.Hash
	size int64
	buf  []byte // read and hashed, not yet handed out
	room [verifyBuffer]byte
	err  error // why there is no more behind buf
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

// fill reads more behind the byte that is held back.
func (v *verifier) fill() {
	held := copy(v.room[:], v.buf)
	n, err := v.src.Read(v.room[held:])
	v.buf = v.room[:held+n]
	v.sum.Write(v.room[held : held+n])
	v.size += int64(n)
	if err == io.EOF {
		err = v.verdict()
	}
	v.err = err
}

// verdict is io.EOF when the bytes are the right ones.
func (v *verifier) verdict() error {
	if have := Ref(v.sum.Sum(nil)); have != v.ref {
		return opError("read", v.ref, fmt.Errorf("%w: its %d bytes are those of %s", ErrCorrupt, v.size, have))
	}
	return io.EOF
}

// Close closes the source. What was not read is not checked.
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
