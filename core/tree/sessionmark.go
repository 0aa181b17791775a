package tree

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// WithSessionMark returns es followed by the marker of the session with header
// h, or es if d is not a SessionMarker. id and time are those of the marker.
func WithSessionMark(d core.Dialect, h core.Header, es []core.Entry, id, time string) ([]core.Entry, error) {
	m, ok := d.(optional.SessionMarker)
	if !ok {
		return es, nil
	}
	e, err := d.Fill(m.SessionMark(h), core.Fields{ID: id, Parent: d.Leaf(es), Time: time, Position: len(es) + 1})
	if err != nil {
		return nil, err
	}
	return append(es[:len(es):len(es)], e), nil
}
