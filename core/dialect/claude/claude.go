package claude

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
)

const name = "claude"

// A Dialect is the dialect of Claude Code. It keeps no state and is safe for
// concurrent use.
type Dialect struct{}

var (
	_ bundle.Packer      = Dialect{}
	_ core.Linker        = Dialect{}
	_ optional.Rewriter  = Dialect{}
	_ optional.Relocator = Dialect{}
)

// Name is "claude".
func (Dialect) Name() string { return name }

// Linear is false: rewinding makes branches.
func (Dialect) Linear() bool { return false }

// EntryID is a UUID.
func (Dialect) EntryID(random [16]byte) string { return newid.UUID(random) }

// ImageStore is empty: images are part of the lines.
func (Dialect) ImageStore() string { return "" }

// Keeps is true: the agent writes a prompt before it asks the model.
func (Dialect) Keeps(es []core.Entry) bool { return core.AnyInTree(es) }

// Layout returns the lines of the main file.
func (Dialect) Layout(_ core.Header, es []core.Entry) []core.Entry {
	c, err := envelope.Read(es, mainOf)
	if err != nil {
		return nil
	}
	out := make([]core.Entry, 0, len(c.Lines))
	for _, l := range c.Lines {
		if l.Path == mainPath {
			e := l.Entry
			e.Line = l.Bytes
			out = append(out, e)
		}
	}
	return out
}

// AsWritten returns line, or the line in an envelope that has its uuid: one whose parent
// the log lacked when it was appended. The agent does not change lines.
func (Dialect) AsWritten(line []byte) []byte {
	p, ours, err := envelope.Open(line)
	if !ours || err != nil || p.Path != mainPath || p.Pieces > 1 || readLine(p.Bytes).uuid != p.ID {
		return line
	}
	return p.Bytes
}

// SameHeader reports whether both headers name one session.
func (Dialect) SameHeader(a, b []byte) bool { return envelope.SameHeader(name, a, b) }
