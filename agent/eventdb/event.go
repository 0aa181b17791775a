package eventdb

import (
	"bytes"
	"encoding/json"
)

// newEvent returns an event as opencode's interface writes it.
func newEvent(session, id string, seq int64, kind, data string) (Event, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		ID        string          `json:"id"`
		Aggregate string          `json:"aggregate_id"`
		Seq       int64           `json:"seq"`
		Type      string          `json:"type"`
		Data      json.RawMessage `json:"data"`
	}{id, session, seq, kind, json.RawMessage(data)})
	return Event{ID: id, Seq: seq, JSON: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, err
}
