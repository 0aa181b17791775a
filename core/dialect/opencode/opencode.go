package opencode

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// A Dialect is the dialect of opencode. It keeps no state and is safe for
// concurrent use.
type Dialect struct{ envelope.Chain }

var (
	_ core.Dialect         = Dialect{}
	_ bundle.Bundler       = Dialect{}
	_ optional.Rewriter    = Dialect{}
	_ optional.Relocator   = Dialect{}
	_ optional.Mover       = Dialect{}
	_ optional.Successor   = Dialect{}
	_ optional.Summarizing = Dialect{}
	_ optional.Narrator    = Dialect{}
	_ usage.Reporter       = Dialect{}
)

const dialectName = "opencode"

// Name is "opencode".
func (Dialect) Name() string { return dialectName }

// NewHeader makes the header of a session.
func (Dialect) NewHeader(f core.HeaderFields) []byte { return envelope.NewHeader(dialectName, f) }

// maxID is the longest id that is believed.
const maxID = envelope.MaxID

// Header reads a line that NewHeader made.
func (Dialect) Header(line []byte) (core.Header, error) {
	return envelope.ChainHeader(dialectName, line)
}

// Entry reads any line as an entry. A name, a label and what says how a file was
// laid out have no place in the tree.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	e, ours, err := envelope.Entry(line)
	if !ours && err == nil {
		e, err = jsonl.Entry(line)
		e.Aside = e.Type == typeName || e.Type == typeLabel || e.Type == typeLayout
	}
	e.Parent = ""
	return e, err
}

// Fill adds id and timestamp, in this order, as far as f gives them and line
// lacks them. Sessions are chains, so a line has no parent. An event of opencode
// stays as it is.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	if _, ok := readEvent(line); ok {
		return d.Entry(line)
	}
	return envelope.ChainFill(line, f, d.Entry)
}

// AsWritten returns an event as opencode's interface writes it, whatever white
// space a program put into the file.
func (Dialect) AsWritten(line []byte) []byte {
	if ev, ok := readEvent(line); ok {
		if b, err := jsonl.Append(nil, ev.raw); err == nil {
			return b
		}
	}
	return line
}

// SameHeader implements optional.Rewriter: the header is ours, and the id decides.
func (Dialect) SameHeader(a, b []byte) bool { return envelope.SameHeader(dialectName, a, b) }
