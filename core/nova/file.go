package nova

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// File reads <session_id>.json: one JSON object, on one line or several. It is
// an entry that begins the session, always the same, and one that holds the
// state with the text of the file; so the file can be brought in again after
// Nova wrote it anew. It is exact where a newline ends it, which Nova does not
// write. core.ErrInvalid names the field that is missing or wrong.
func (Dialect) File(data []byte) (*core.File, error) {
	text := bytes.TrimSuffix(data, []byte("\n"))
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("no Nova session: %w", err)
	}
	h, first, err := Begin(s, "")
	if err != nil {
		return nil, err
	}
	e, err := stateEntry(s, text)
	if err != nil {
		return nil, err
	}
	return &core.File{
		Dialect: name, Header: h, Entries: []core.Entry{first, e}, Lines: []int{1, 1},
		Exact: len(text)+1 == len(data),
	}, nil
}

// Begin returns the header and the first entry of a session that s is the first
// state of. File gives the same for a file of that session, where cwd is empty.
func Begin(s State, cwd string) (core.Header, core.Entry, error) {
	h, err := Dialect{}.Header(Dialect{}.NewHeader(core.HeaderFields{ID: s.SessionID, Time: s.CreatedAt, CWD: cwd, Parent: s.ForkParentID}))
	if err != nil {
		return h, core.Entry{}, err
	}
	b := begin(typeCreated)
	b.text("id", typeCreated)
	b.text("timestamp", s.CreatedAt)
	b.text("session_id", s.SessionID)
	e, err := readEntry(b.object())
	return h, e, err
}

// stateEntry makes the entry of a whole state whose file is text. Its id is
// made of the text, so that the same file is the same entry.
func stateEntry(s State, text []byte) (core.Entry, error) {
	sum := sha256.Sum256(text)
	b := begin(typeState)
	b.text("id", hex.EncodeToString(sum[:8]))
	b.text("timestamp", s.LastUpdated)
	if bytes.ContainsAny(text, "\n\r") || len(bytes.TrimSpace(text)) != len(text) {
		b.text("text", string(text))
	} else {
		b.member("state", text)
	}
	return readEntry(b.object())
}

// Detect reports whether data begins as a state does: an object with the
// fields that every state has, and without a type.
func (Dialect) Detect(data []byte) bool {
	seen := map[string]bool{}
	_ = core.Members(data, func(name string, v jsontext.Value) { seen[name] = true })
	return seen["session_id"] && seen["created_at"] && seen["last_updated"] && !seen["type"] && !seen["record_type"]
}

// Layout is Nova's file: one line or several, the text of the file that was
// brought in, or what to_dict gives where something was changed since.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	s, text := fold(h, es)
	if text == nil {
		text = s.JSON()
	}
	return []core.Entry{{Line: text, Type: typeState}}
}

// FileName is <session_id>.json in the directory of sessions, .nova/sessions
// in the project.
func (Dialect) FileName(h core.Header) (dir, file string) { return "", h.ID + ".json" }

// Header reads the header that Sesslog writes for a Nova session: an object of
// the type "nova" whose id CheckID allows.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := readEntry(line)
	if err != nil {
		return core.Header{}, err
	}
	if e.Type != typeHeader {
		return core.Header{}, fmt.Errorf(`it begins with type %q, the header of a Nova session has type "nova": %w`, clip(e.Type), core.ErrInvalid)
	}
	h := core.Header{Line: line, ID: e.ID, Time: e.Time}
	_ = core.Members(line, func(name string, v jsontext.Value) {
		switch name {
		case "cwd":
			h.CWD, _ = esjson.Value(v).Text()
		case "parent":
			h.Parent, _ = esjson.Value(v).Text()
		}
	})
	if h.Parent != "" {
		h.Parents, h.Lineage = []string{h.Parent}, "fork"
	}
	return h, CheckID(h.ID)
}

// NewHeader makes a header. An empty cwd is left out: a state knows none.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	b := begin(typeHeader)
	b.number("version", 1)
	b.text("id", f.ID)
	b.text("timestamp", f.Time)
	b.optional("cwd", f.CWD)
	b.optional("parent", f.Parent)
	return b.object()
}
