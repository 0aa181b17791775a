package envelope

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// The types of envelopes: of a line, of a file without lines, and of the mark
// that the line before it has no newline yet.
const (
	typeLine = "sesslog.line"
	typeFile = "sesslog.file"
	typeOpen = "sesslog.open"
)

// A Piece is what one envelope holds.
type Piece struct {
	ID     string
	InTree bool   // the entry has a place in the tree, under Parent
	Parent string // empty for a root
	Path   string // of the file, as bundle.CheckPath requires
	Kind   string // of the line, which becomes the type of the entry
	Time   string // of the line, if it has one
	// Piece counts the pieces of one line or file, from 0 to Pieces-1.
	Piece, Pieces int
	Bytes         []byte

	form string
}

// IsLine reports whether the piece is of a line, or the whole of one.
func (p *Piece) IsLine() bool { return p.form == typeLine }

// IsFile reports whether the piece is of a file without lines.
func (p *Piece) IsFile() bool { return p.form == typeFile }

// IsOpen reports whether the piece is the mark that the last line of the file
// before it ended without a newline.
func (p *Piece) IsOpen() bool { return p.form == typeOpen }

// entry returns the envelope of p.
func (p *Piece) entry() core.Entry {
	var l jsonl.Line
	l.Begin(p.form)
	l.Text("id", p.ID)
	if p.InTree {
		l.Raw("parentId", jsonl.Parent(parentLeaf(p.Parent)))
	}
	l.Text("path", p.Path)
	l.TextIf("kind", p.Kind)
	l.TextIf("timestamp", p.Time)
	if p.Pieces > 1 {
		l.Raw("piece", strconv.AppendInt(nil, int64(p.Piece), 10))
		l.Raw("pieces", strconv.AppendInt(nil, int64(p.Pieces), 10))
	}
	switch {
	case p.form == typeOpen:
	case utf8.Valid(p.Bytes):
		l.Text("text", string(p.Bytes))
	default:
		l.Text("base64", base64.StdEncoding.EncodeToString(p.Bytes))
	}
	return core.Entry{Line: append(l.Bytes, '}'), ID: p.ID, Parent: p.Parent, Type: p.entryType(), Time: p.Time, Aside: !p.InTree}
}

func parentLeaf(id string) core.Leaf {
	if id == "" {
		return core.NoLeaf
	}
	return core.LeafAt(id)
}

func (p *Piece) entryType() string {
	if p.Kind != "" {
		return p.Kind
	}
	return p.form
}

// looksLike is how every envelope begins.
var looksLike = []byte(`{"type":"sesslog.`)

// IsOurs reports whether line looks like an envelope or a header of ours, so
// that a line of an agent that does must be stored in an envelope.
func IsOurs(line []byte) bool { return bytes.HasPrefix(line, looksLike) }

// Open returns what the envelope line holds. ok is false if line does not look
// like an envelope. Returns core.ErrInvalid for one that package envelope did
// not make.
func Open(line []byte) (p Piece, ok bool, err error) {
	if !IsOurs(line) {
		return Piece{}, false, nil
	}
	var v [len(members)]jsjson.Value
	if err := jsjson.Pick(line, members[:], v[:]); err != nil {
		return Piece{}, true, fmt.Errorf("envelope: %v: %w", err, core.ErrInvalid)
	}
	if err := p.read(&v); err != nil {
		return Piece{}, true, fmt.Errorf("envelope: %v: %w", err, core.ErrInvalid)
	}
	return p, true, nil
}

var members = [...]string{"type", "id", "parentId", "path", "kind", "timestamp", "piece", "pieces", "text", "base64"}

func (p *Piece) read(v *[len(members)]jsjson.Value) (err error) {
	p.form, _ = v[0].Text()
	p.ID, _ = v[1].Text()
	p.InTree = v[2] != nil
	p.Parent, _ = v[2].Text()
	p.Path, _ = v[3].Text()
	p.Kind, _ = v[4].Text()
	p.Time, _ = v[5].Text()
	p.Pieces = 1
	if p.form != typeLine && p.form != typeFile && p.form != typeOpen {
		return fmt.Errorf("type %q is unknown", jsonl.Clip(p.form, 40))
	}
	if p.ID == "" {
		return fmt.Errorf("it has no id")
	}
	if err := bundle.CheckPath(p.Path); err != nil {
		return err
	}
	if v[7] != nil {
		n, m := count(v[6]), count(v[7])
		if m < 2 || n < 0 || n >= m {
			return fmt.Errorf("piece %s of %s", clip(v[6]), clip(v[7]))
		}
		p.Piece, p.Pieces = n, m
	}
	if p.form == typeOpen {
		return nil
	}
	if text, ok := v[8].Text(); ok {
		p.Bytes = []byte(text)
		return nil
	}
	text, ok := v[9].Text()
	if !ok {
		return fmt.Errorf("it holds nothing")
	}
	p.Bytes, err = base64.StdEncoding.Strict().DecodeString(text)
	return err
}

// maxPieces bounds how many pieces a line or file may have.
const maxPieces = 1 << 20

// count returns v as a number from 0 to maxPieces, or -1.
func count(v jsjson.Value) int {
	f, ok := v.Number()
	if !ok || f < 0 || f > maxPieces || f != float64(int(f)) {
		return -1
	}
	return int(f)
}

func clip(v jsjson.Value) string { return jsonl.Clip(string(v), 20) }

// Entry reads line as an entry if it looks like an envelope; ok is false
// otherwise.
func Entry(line []byte) (e core.Entry, ok bool, err error) {
	p, ok, err := Open(line)
	if !ok || err != nil {
		return core.Entry{}, ok, err
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		return core.Entry{}, true, fmt.Errorf("more than one line: %w", core.ErrInvalid)
	}
	return core.Entry{Line: line, ID: p.ID, Parent: p.Parent, Type: p.entryType(), Time: p.Time, Aside: !p.InTree}, true, nil
}
