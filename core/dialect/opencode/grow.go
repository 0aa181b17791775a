package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Begin returns the header of a session whose first event is created, as Pack
// makes it. Returns core.ErrInvalid if that event does not create a session, as
// in one that opencode imported: then its event log lacks its beginning.
func (d Dialect) Begin(created json.RawMessage) (core.Header, error) {
	ev, ok := readEvent(created)
	if !ok || ev.kind != typeCreated || ev.seq != 0 {
		return core.Header{}, fmt.Errorf("its events do not begin with its creation: %w", core.ErrInvalid)
	}
	l := list{items: [][]byte{created}, open: plainOpen, close: plainClose}
	f, err := d.Pack(eventsFile, []bundle.File{{Path: eventsFile, Data: l.text()}})
	if err != nil {
		return core.Header{}, err
	}
	if f.Header.ID != ev.session {
		return core.Header{}, fmt.Errorf("its first event is of session %s: %w", jsonl.Clip(f.Header.ID, maxID), core.ErrInvalid)
	}
	return f.Header, nil
}

// Entries returns the entries of events of the session called id, as Pack makes
// them of a list.
func (d Dialect) Entries(id string, events []json.RawMessage) []core.Entry {
	p := &packer{d: d, id: id, seen: map[string]bool{}}
	p.w.Whole = true
	for _, raw := range events {
		ev, ok := readEvent(raw)
		p.event(raw, ev, ok && ev.session == id)
	}
	return p.entries
}

// SameElsewhere implements optional.Mover: opencode on another host gets the
// session's events with the directory where the session continues there.
func (Dialect) SameElsewhere(a, b []byte) bool {
	x, ok := readEvent(a)
	y, same := readEvent(b)
	if !ok || !same || x.kind != y.kind || !strings.HasPrefix(x.kind, "session.") {
		return false
	}
	return bytes.Equal(placeless(x), placeless(y))
}

// placeless returns an event without what says where its session is.
func placeless(ev event) []byte {
	return jsonl.Replace(ev.raw, "data", func(data []byte) []byte {
		return jsonl.Replace(data, "info", func(info []byte) []byte {
			for _, name := range []string{"directory", "path", "projectID"} {
				info = jsonl.Without(info, name)
			}
			return info
		})
	})
}
