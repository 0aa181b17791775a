package recordio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

const (
	maxLine = 64 << 10  // bytes of the line in front of a body
	maxBody = 512 << 20 // bytes of a body
)

// A Record is a core.Record whose body may be a blob that is not at hand.
type Record struct {
	core.Record
	// Spill is the digest of the plain body if that is a blob; Body is then
	// empty. Zero if Body is complete.
	Spill core.Digest
}

// Sum is the digest of the plain body, wherever that is.
func (r *Record) Sum() core.Digest {
	if !r.Spill.IsZero() {
		return r.Spill
	}
	return core.DigestOf(r.Body)
}

// Follows reports whether r is the next record after one with that seq and
// chain.
func (r *Record) Follows(seq uint64, chain core.Chain) bool {
	return r.Seq == seq+1 && chain.NextOf(&r.Record, r.Sum()) == r.Chain
}

// line is the line before a body.
type line struct {
	Kind   core.Kind   `json:"kind"`
	Seq    uint64      `json:"seq"`
	Chain  core.Chain  `json:"chain"`
	Head   string      `json:"head"`
	Writer string      `json:"writer"`
	Epoch  uint64      `json:"epoch"`
	Count  int         `json:"count,omitempty"`
	Base   core.Pos    `json:"base,omitempty"`
	Pos    core.Pos    `json:"pos,omitempty"`
	Time   time.Time   `json:"time,omitzero"`
	Redo   bool        `json:"redo,omitempty"`
	Size   int         `json:"size"`
	Spill  core.Digest `json:"spill,omitzero"`
}

// Write writes r. Returns core.ErrInvalid if it cannot be read back, because a
// name in it is not valid text. After an error of w, w may have a part of the
// record.
func Write(w io.Writer, r *Record) error {
	if !utf8.ValidString(string(r.Kind)) || !utf8.ValidString(r.Head) || !utf8.ValidString(r.Writer) {
		return fmt.Errorf("record %d has a kind, head or writer that is not valid text: %w", r.Seq, core.ErrInvalid)
	}
	l := line{
		Kind: r.Kind, Seq: r.Seq, Chain: r.Chain, Head: r.Head, Writer: r.Writer, Epoch: r.Epoch, Count: r.Count,
		Base: r.Base, Pos: r.Pos, Time: r.Time, Redo: r.Redo, Size: len(r.Body), Spill: r.Spill,
	}
	head, err := json.Marshal(l)
	if err != nil {
		return err
	}
	for _, b := range [][]byte{append(head, '\n'), r.Body, {'\n'}} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// A Reader reads what Write wrote, record by record.
type Reader struct{ r *bufio.Reader }

// NewReader returns a Reader of src. It reads ahead.
func NewReader(src io.Reader) *Reader { return &Reader{bufio.NewReaderSize(src, maxLine)} }

// Next returns the next record, or io.EOF after the last one. Returns
// core.ErrCorrupt for anything that is not a complete record; an error of the
// source is returned unchanged. The caller owns the record. Its chain is as
// written, not verified.
func (rd *Reader) Next() (*Record, error) {
	head, err := rd.Line()
	if err != nil {
		return nil, err
	}
	var l line
	if err := json.Unmarshal(head, &l); err != nil {
		return nil, fmt.Errorf("the line before a record is not what it should be: %v: %w", err, core.ErrCorrupt)
	}
	switch {
	case l.Seq == 0, l.Kind == "", l.Count < 0, l.Size < 0, l.Size > maxBody:
		return nil, fmt.Errorf("record %d of kind %q with a body of %d bytes: %w", l.Seq, l.Kind, l.Size, core.ErrCorrupt)
	case !l.Spill.IsZero() && l.Size != 0:
		return nil, fmt.Errorf("record %d has a body here and elsewhere: %w", l.Seq, core.ErrCorrupt)
	}
	r := &Record{Spill: l.Spill, Record: core.Record{
		Kind: l.Kind, Seq: l.Seq, Chain: l.Chain, Head: l.Head, Writer: l.Writer, Epoch: l.Epoch, Count: l.Count,
		Base: l.Base, Pos: l.Pos, Time: l.Time, Redo: l.Redo,
	}}
	r.Body, err = rd.body(l.Size)
	if err != nil {
		return nil, fmt.Errorf("body of record %d: %w", l.Seq, err)
	}
	return r, nil
}

// Line returns the next line without its end, for text that precedes the
// records. It is valid until the next call. Returns io.EOF at the end.
func (rd *Reader) Line() ([]byte, error) {
	b, err := rd.r.ReadSlice('\n')
	switch {
	case err == nil:
		return b[:len(b)-1], nil
	case errors.Is(err, io.EOF) && len(b) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("it ends in the middle of a line: %w", core.ErrCorrupt)
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("a line of more than %d bytes: %w", maxLine, core.ErrCorrupt)
	}
	return nil, err
}

// body reads size bytes and the newline after them. It allocates memory as
// bytes arrive, so a false size costs nothing.
func (rd *Reader) body(size int) ([]byte, error) {
	const piece = 1 << 20
	b := make([]byte, 0, min(size, piece))
	for len(b) < size {
		n := min(size-len(b), piece)
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(rd.r, b[len(b)-n:]); err != nil {
			return nil, cutOff(err)
		}
	}
	end, err := rd.r.ReadByte()
	if err != nil {
		return nil, cutOff(err)
	}
	if end != '\n' {
		return nil, fmt.Errorf("it continues after its end: %w", core.ErrCorrupt)
	}
	return b, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends in the middle: %w", core.ErrCorrupt)
	}
	return err
}

// All yields the records in b. An error is yielded once, last, with a nil record.
func All(b []byte) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		rd := NewReader(bytes.NewReader(b))
		for {
			r, err := rd.Next()
			if err == io.EOF {
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
