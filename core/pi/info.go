package pi

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// Info describes the session whose leaf is leaf. The name is that of the last
// session_info entry in es and the labels are the last ones, on whatever
// branch they are. ErrNotFound when leaf names an entry that is not there.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (core.Info, error) {
	o, err := object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return core.Info{}, err
	}
	header, err := build(&o)
	if err != nil {
		return core.Info{}, err
	}
	at, _, err := find(es, leaf)
	if err != nil {
		return core.Info{}, err
	}
	info := core.Info{
		Header:    json.RawMessage(header),
		Version:   json.RawMessage("null"),
		SessionID: h.ID,
		CWD:       h.CWD,
		Types:     map[string]int{},
		Name:      nameOf(es),
		Labels:    map[string]string{},
	}
	if v := o.Get("version"); v != nil {
		if info.Version, err = esjson.Append(nil, v); err != nil {
			return core.Info{}, err
		}
	}
	if at >= 0 && es[at].ID != "" {
		info.LeafID = &es[at].ID
	}
	for _, e := range entriesOf(es) {
		info.EntryCount++
		info.Types[typeOf(e)]++
	}
	for id, l := range labelsOf(es) {
		info.Labels[id] = l.text
	}
	return info, nil
}

// typeOf is the type of e as JavaScript would name a property after it.
func typeOf(e core.Entry) string {
	if e.Type != "" {
		return e.Type
	}
	o, err := object(e)
	v := o.Get("type")
	switch {
	case err != nil || v == nil:
		return "undefined"
	case v.Kind() == '"':
		return ""
	}
	return string(v)
}

// nameOf is the name that the last session_info entry gives, nil where it
// gives none.
func nameOf(es []core.Entry) *string {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Type != "session_info" {
			continue
		}
		o, err := object(es[i])
		if err != nil {
			return nil
		}
		name, _ := text(o.Get("name"))
		if name = trim(name); name == "" {
			return nil
		}
		return &name
	}
	return nil
}
