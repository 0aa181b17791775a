package pi

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Info describes the session whose leaf is leaf. The name is that of the last
// session_info entry in es and the labels are the last ones, on whatever
// branch they are. ErrNotFound when leaf names an entry that is not there.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (core.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return core.Info{}, err
	}
	header, err := jsonl.Build(&o)
	if err != nil {
		return core.Info{}, err
	}
	own := entriesOf(es)
	leafID, err := tree.LeafID(own, leaf)
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
		Name:       nameOf(es),
		Labels:     tree.LabelTexts(own),
	}
	if v := o.Get("version"); v != nil {
		if info.Version, err = jsjson.Append(nil, v); err != nil {
			return core.Info{}, err
		}
	}
	info.Own, err = ownOf(&o, own, leaf)
	return info, err
}

// nameOf is the name that the last session_info entry gives, nil where it
// gives none.
func nameOf(es []core.Entry) *string {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Type != "session_info" {
			continue
		}
		o, err := jsonl.Object(es[i])
		if err != nil {
			return nil
		}
		name, _ := jsonl.Text(o.Get("name"))
		if name = jsonl.Trim(name); name == "" {
			return nil
		}
		return &name
	}
	return nil
}
