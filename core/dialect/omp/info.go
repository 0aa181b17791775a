package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Info describes the session whose leaf is leaf. The header is as omp has it
// after reading the file: with the title of the slot. A title slot is not an
// entry. Returns ErrNotFound if leaf names an entry that does not exist.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return display.Info{}, err
	}
	own := entriesOf(es)
	t, renamed := titleOf(h, es)
	var slot core.Entry
	if i := lastSlot(es); i >= 0 {
		slot = es[i]
	}
	if renamed || slot.Line != nil {
		setOrDelete(&o, "title", t.text)
		setOrDelete(&o, "titleSource", t.source)
	}
	info, err := frame.Info(h, &o, own, leaf)
	if err != nil {
		return display.Info{}, err
	}
	if t.text != "" {
		info.Name = &t.text
	}
	info.Own, err = ownOf(&o, own, leaf, t, slot)
	return info, err
}

func setOrDelete(o *jsjson.Object, name, text string) {
	if text == "" {
		o.Delete(name)
		return
	}
	o.Set(name, jsjson.AppendString(nil, text))
}
