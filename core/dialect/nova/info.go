package nova

import (
	"bytes"
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// Info describes the session as it was at leaf. Own is the state, as Dict
// writes it. core.ErrNotFound as for Path.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	f := fold(h, path)
	info := display.Info{
		Header:     bytes.ToValidUTF8(h.Line, []byte("\uFFFD")),
		Version:    json.RawMessage("null"),
		SessionID:  h.ID,
		CWD:        h.CWD,
		EntryCount: len(es),
		Types:      map[string]int{},
		Labels:     map[string]string{},
		Own:        f.Dict(),
	}
	if n := len(path); n > 0 && path[n-1].ID != "" {
		info.LeafID = &path[n-1].ID
	}
	if f.name != "" {
		info.Name = &f.name
	}
	for _, e := range es {
		info.Types[e.Type]++
	}
	for id, l := range f.labels {
		info.Labels[id] = l.text
	}
	return info, nil
}
