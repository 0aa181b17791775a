package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Info describes the session whose leaf is leaf. The header is as omp has it
// after reading the file: with the title of the slot. A title slot is not an
// entry. Returns ErrNotFound if leaf names an entry that does not exist.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (core.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return core.Info{}, err
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
		return core.Info{}, err
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

// Summary reads all branches, as listing.Of describes. A session without a
// title has the short summary of its last compaction as its name. Usage is what
// the assistant messages report, and omp's own requests to models.
func (Dialect) Summary(h core.Header, es []core.Entry) core.Summary {
	s := listing.Of(h, es, "model_usage")
	if t, _ := titleOf(h, es); t.text != "" {
		s.Name = t.text
		return s
	}
	for i := len(es) - 1; i >= 0 && s.Name == ""; i-- {
		if es[i].Type != "compaction" {
			continue
		}
		if o, err := jsonl.Object(es[i]); err == nil {
			s.Name, _ = o.Get("shortSummary").Text()
		}
	}
	return s
}
