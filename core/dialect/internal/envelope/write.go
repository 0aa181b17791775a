package envelope

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// pieceSize is how many bytes an envelope holds at most.
const pieceSize = 256 << 10

// A Writer makes envelopes for the files of one session. Ids are derived from
// path, content and how often the content was there before, so a file that only
// grew gets its earlier ids again. The zero Writer is ready for use.
type Writer struct {
	// Whole puts each line into one envelope, whatever its length, so that an
	// entry says what its line says.
	Whole bool

	met map[[sha256.Size]byte]int
}

// Line returns the envelopes of one line, without its newline. Of p it uses
// InTree, Parent, Path, Kind, Time, Bytes, and ID if it is not empty.
func (w *Writer) Line(p Piece) []core.Entry { return w.wrap(typeLine, p) }

// File returns the envelopes of a file without lines.
func (w *Writer) File(path string, data []byte) []core.Entry {
	return w.wrap(typeFile, Piece{Path: path, Bytes: data})
}

// Open returns the mark that the last line of the file, before it, ended
// without a newline. last is that line.
func (w *Writer) Open(path string, last []byte) core.Entry {
	return w.wrap(typeOpen, Piece{Path: path, Bytes: last, Pieces: 1})[0]
}

// ID returns an id for bytes of the file, which no earlier call returned.
func (w *Writer) ID(form, path string, b []byte) string {
	h := sha256.New()
	for _, s := range [][]byte{[]byte(form), []byte(path), b} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write(s)
	}
	key := [sha256.Size]byte(h.Sum(nil))
	if w.met == nil {
		w.met = map[[sha256.Size]byte]int{}
	}
	w.met[key]++
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(w.met[key])))
	return "sesslog-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// wrap returns the envelopes of p in as many pieces as it takes. Of several
// pieces the last has the id and the place in the tree.
func (w *Writer) wrap(form string, p Piece) []core.Entry {
	p.form = form
	if p.ID == "" {
		p.ID = w.ID(form, p.Path, p.Bytes)
	}
	cuts := [][]byte{p.Bytes}
	if !w.Whole || form != typeLine {
		cuts = cut(p.Bytes)
	}
	if p.Pieces == 1 {
		cuts = cuts[:1]
	}
	p.Pieces = len(cuts)
	es := make([]core.Entry, len(cuts))
	for i, b := range cuts {
		q := p
		q.Piece, q.Bytes = i, b
		if i < len(cuts)-1 {
			q.ID, q.InTree, q.Parent, q.Kind = p.ID+"."+strconv.Itoa(i), false, "", ""
		}
		es[i] = q.entry()
	}
	return es
}

// cut returns b in pieces, text not within a character. There is at least one.
func cut(b []byte) [][]byte {
	var pieces [][]byte
	for len(b) > pieceSize {
		n := pieceSize
		for n > pieceSize-utf8.UTFMax && !utf8.RuneStart(b[n]) {
			n--
		}
		if n == pieceSize-utf8.UTFMax {
			n = pieceSize
		}
		pieces = append(pieces, b[:n:n])
		b = b[n:]
	}
	return append(pieces, b)
}
