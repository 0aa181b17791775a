package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
)

// Info describes the session whose leaf is leaf. The name is that of the last
// session_info entry in es, and the labels are the last ones, on whatever
// branch they are. Returns ErrNotFound if leaf names an entry that does not
// exist.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return display.Info{}, err
	}
	own := entriesOf(es)
	info, err := frame.Info(h, &o, own, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info.Name = nameOf(es)
	info.Own, err = ownOf(&o, own, leaf)
	return info, err
}

// nameOf is the name in the last session_info entry, or nil if it has none.
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
