package omp

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Info describes the session whose leaf is leaf. The header is as omp has it
// after reading the file: with the title of the slot. A title slot is no entry.
// ErrNotFound when leaf names an entry that is not there.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (core.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return core.Info{}, err
	}
	own := entriesOf(es)
	leafID, err := tree.LeafID(own, leaf)
	if err != nil {
		return core.Info{}, err
	}
	t, renamed := titleOf(h, es)
	var slot core.Entry
	if i := lastSlot(es); i >= 0 {
		slot = es[i]
	}
	if renamed || slot.Line != nil {
		setOrDelete(&o, "title", t.text)
		setOrDelete(&o, "titleSource", t.source)
	}
	header, err := jsonl.Build(&o)
	if err != nil {
		return core.Info{}, err
	}
	info := core.Info{
		Header:     json.RawMessage(header),
		Version:    json.RawMessage("null"),
		SessionID:  h.ID,
		CWD:        h.CWD,
		EntryCount: len(own),
		Types:      tree.Types(own),
		LeafID:     leafID,
		Labels:     tree.LabelTexts(own),
	}
	if t.text != "" {
		info.Name = &t.text
	}
	if v := o.Get("version"); v != nil {
		if info.Version, err = jsjson.Append(nil, v); err != nil {
			return core.Info{}, err
		}
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

// Summary reads all branches, as listing.Of says. A session without a title is
// listed under the short summary of its last compaction. Usage is what the
// assistant messages report, and what omp itself asked models for.
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
