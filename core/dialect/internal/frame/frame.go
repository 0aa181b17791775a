package frame

import (
	"encoding/hex"
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Base is embedded by dialects whose sessions are trees.
type Base struct{}

// Linear is false: the sessions are trees.
func (Base) Linear() bool { return false }

// EntryID is 8 hexadecimal digits.
func (Base) EntryID(random [16]byte) string { return hex.EncodeToString(random[:4]) }

// ImageStore is empty: images are part of the lines.
func (Base) ImageStore() string { return "" }

// Layout is the header, then es.
func (Base) Layout(h core.Header, es []core.Entry) []core.Entry { return h.Before(es) }

// WithCWD implements optional.Relocator.
func (Base) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }

// JS is embedded by the dialects of pi and omp, whose lines have the same
// members: id, parentId, type and timestamp.
type JS struct{ Base }

// version is the format version that these agents write.
const version = 3

// NewHeader makes a header of version 3, with the members in the agents' order.
func (JS) NewHeader(f core.HeaderFields) []byte { return jsonl.NewHeader(version, f) }

// NewLabel makes a line that labels target, or clears its label if label is
// empty.
func (JS) NewLabel(target, label string) []byte { return jsonl.NewLabel(target, label) }

// LastEntry is the leaf at the last of es. It is the default leaf if es is
// empty, or if the last entry has no id and so cannot be named: reading ends at
// that entry all the same.
func LastEntry(es []core.Entry) core.Leaf {
	if len(es) == 0 {
		return core.Leaf{}
	}
	return LeafAt(es[len(es)-1].ID)
}

// LeafAt is the leaf at the entry with this id, or the default leaf if id is
// empty.
func LeafAt(id string) core.Leaf {
	if id == "" {
		return core.Leaf{}
	}
	return core.LeafAt(id)
}

// Info describes the session with header h and entries es at leaf. header holds
// the members of the header as they are shown. Name and Own are left to the
// dialect. Returns core.ErrNotFound if leaf names an entry that does not exist.
func Info(h core.Header, header *jsjson.Object, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	leafID, err := tree.LeafID(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	text, err := jsonl.Build(header)
	if err != nil {
		return display.Info{}, err
	}
	version := []byte("null")
	if v := header.Get("version"); v != nil {
		if version, err = jsjson.Append(nil, v); err != nil {
			return display.Info{}, err
		}
	}
	return display.Info{
		Header:     json.RawMessage(text),
		Version:    version,
		SessionID:  h.ID,
		CWD:        h.CWD,
		EntryCount: len(es),
		Types:      tree.Types(es),
		LeafID:     leafID,
		Labels:     tree.LabelTexts(es),
	}, nil
}
