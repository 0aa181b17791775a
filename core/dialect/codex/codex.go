package codex

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
)

// A Dialect is the dialect of Codex. It keeps no state and is safe for
// concurrent use.
type Dialect struct{ envelope.Chain }

var (
	_ core.Dialect       = Dialect{}
	_ bundle.Packer      = Dialect{}
	_ optional.Rewriter  = Dialect{}
	_ optional.Relocator = Dialect{}
)

const dialectName = "codex"

// Name is "codex".
func (Dialect) Name() string { return dialectName }

// NewHeader makes the header of a session.
func (Dialect) NewHeader(f core.HeaderFields) []byte { return envelope.NewHeader(dialectName, f) }

// Header reads a line that NewHeader made.
func (Dialect) Header(line []byte) (core.Header, error) {
	return envelope.ChainHeader(dialectName, line)
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
	return envelope.ChainFill(line, f, d.Entry)
}

// AsWritten returns line: Codex does not change lines.
func (Dialect) AsWritten(line []byte) []byte { return line }

// SameHeader implements optional.Rewriter: the header is ours, and the id decides.
func (Dialect) SameHeader(a, b []byte) bool { return envelope.SameHeader(dialectName, a, b) }
