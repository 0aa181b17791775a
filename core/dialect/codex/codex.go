package codex

import (
	"encoding/hex"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
)

// A Dialect is the dialect of Codex. It keeps no state and is safe for
// concurrent use.
type Dialect struct{}

var (
	_ core.Dialect       = Dialect{}
	_ bundle.Packer      = Dialect{}
	_ optional.Rewriter  = Dialect{}
	_ optional.Relocator = Dialect{}
)

const dialectName = "codex"

// Name is "codex".
func (Dialect) Name() string { return dialectName }

// ImageStore is empty: images are part of the lines.
func (Dialect) ImageStore() string { return "" }

// Keeps is true: a session of Codex has a file with its first turn.
func (Dialect) Keeps([]core.Entry) bool { return true }

// EntryID is 16 hexadecimal digits.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:8]) }

// NewHeader makes the header of a session.
func (Dialect) NewHeader(f core.HeaderFields) []byte { return envelope.NewHeader(dialectName, f) }

// Header reads a line that NewHeader made.
func (Dialect) Header(line []byte) (core.Header, error) {
	h, err := envelope.Header(dialectName, line)
	if err != nil {
		return h, err
	}
	if h.ID == "" || len(h.ID) > maxID {
		return h, fmt.Errorf("the header has an id of %d characters, 1 to %d are allowed: %w", len(h.ID), maxID, core.ErrInvalid)
	}
	return envelope.WithLineage(h), nil
}

// Entry reads any line as an entry. A name and a label have no place in the
// tree.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	e, ours, err := envelope.Entry(line)
	if !ours && err == nil {
		e, err = jsonl.Entry(line)
		e.Aside = e.Type == typeName || e.Type == typeLabel
	}
	e.Parent = ""
	return e, err
}

// Fill adds id and timestamp, in this order, as far as f gives them and line
// lacks them. Threads are chains, so a line has no parent.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	f.Parent = core.Leaf{}
	e, err := jsonl.Fill(line, f)
	if err != nil {
		return e, err
	}
	return d.Entry(e.Line)
}

// AsWritten returns line: Codex does not change lines.
func (Dialect) AsWritten(line []byte) []byte { return line }

// SameHeader implements optional.Rewriter: the header is ours, and the id decides.
func (Dialect) SameHeader(a, b []byte) bool { return envelope.SameHeader(dialectName, a, b) }

// WithCWD implements optional.Relocator.
func (Dialect) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }
