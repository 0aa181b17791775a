package nova

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// File reads a file of Nova: one JSON object, on one line or on several. It
// becomes a line that names the session, and one that holds the object as it is
// written; their ids are derived from their content. Returns a core.ErrInvalid
// that names the member that is missing or invalid.
func (d Dialect) File(data []byte) (*core.File, error) {
	s, err := ReadDict(data)
	if err != nil {
		return nil, err
	}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: s.SessionID, Time: s.CreatedAt, Parent: s.ForkParentID}))
	if err != nil {
		return nil, err
	}
	f := &core.File{Dialect: name, Header: h}
	for _, line := range [][]byte{d.SessionMark(h), documentLine(data)} {
		iso := toISO(s.LastUpdated)
		if len(f.Entries) == 0 {
			iso = toISO(s.CreatedAt)
		}
		sum := sha256.Sum256(append([]byte(s.SessionID+"\n"), line...))
		e, err := d.Fill(line, core.Fields{ID: hex.EncodeToString(sum[:8]), Time: iso})
		if err != nil {
			return nil, fmt.Errorf("not a Nova state: %w", err)
		}
		f.Entries, f.Lines = append(f.Entries, e), append(f.Lines, 1)
	}
	f.Exact = bytes.Equal(core.Lines(d.Layout(f.Header, f.Entries)), data)
	return f, nil
}

// documentLine returns the line of a state that holds data unchanged.
func documentLine(data []byte) []byte {
	w := begin(typeState)
	object, ends := bytes.CutSuffix(data, []byte("\n"))
	plain := bytes.HasPrefix(object, []byte("{")) && bytes.HasSuffix(object, []byte("}"))
	if ends && plain && utf8.Valid(data) && !bytes.ContainsAny(object, "\n\r") {
		w.key("state")
		w.b = append(w.b, object...)
		return w.end()
	}
	w.text("text", string(data))
	return w.end()
}

// Detect reports whether data begins like a file of Nova: an object, perhaps
// on many lines, with a session_id and a created_at and with key_decisions or
// metrics.
func (Dialect) Detect(data []byte) bool {
	o, err := jsjson.ParseObject(bytes.TrimPrefix(data, jsonl.ByteOrderMark))
	if err != nil {
		return false
	}
	has := func(name string) bool { return o.Get(name) != nil }
	return has("session_id") && has("created_at") && (has("key_decisions") || has("metrics"))
}

// Layout is the file that Nova would write for the session: the imported file
// if nothing has changed since, otherwise one line.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	f := fold(h, es)
	doc := f.document
	if doc == nil {
		doc = f.Dict()
	}
	var out []core.Entry
	for line := range bytes.SplitSeq(bytes.TrimSuffix(doc, []byte("\n")), []byte("\n")) {
		out = append(out, core.Entry{Line: line})
	}
	return out
}
