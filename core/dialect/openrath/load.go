package openrath

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/jsonline"
)

// A Loaded is a session as a file has it.
type Loaded struct {
	Session
	Closed bool // there is a trailer
	Path   string
	// Trailer is the line of the last trailer, or nil. It may have members that
	// OpenRath does not know.
	Trailer []byte
}

// Load reads the file at path, which is data, as strictly as OpenRath's own
// loader. If that would refuse the file, Load returns an ErrInvalid that names
// the file, the line and the reason. Only a last line without an end is
// ignored, as incomplete.
func (d Dialect) Load(path string, data []byte) (Loaded, error) {
	r := d.newReader(data)
	for !r.done() {
		if err := r.next(); err != nil && !errors.Is(err, errUnfinished) {
			return Loaded{}, fmt.Errorf("%s:%d: %s: %w", path, r.line, core.Reason(err), core.ErrInvalid)
		}
	}
	if !r.begun {
		return Loaded{}, fmt.Errorf("%s: no header record found: %w", path, core.ErrInvalid)
	}
	if _, ok := canonicalUUID(r.file.Header.ID); !ok {
		return Loaded{}, fmt.Errorf("%s: malformed header record: the id is not a UUID: %w", path, core.ErrInvalid)
	}
	l, err := FromEntries(r.file.Header, r.file.Entries)
	l.Path = path
	return l, err
}

// AgentFile implements optional.AgentReader: OpenRath refuses a file with a line that it
// cannot read, and ends lines at more characters.
func (d Dialect) AgentFile(data []byte) (*core.File, error) {
	if bytes.HasPrefix(data, jsonl.ByteOrderMark) {
		return nil, jsonl.ErrMarked
	}
	if _, err := d.Load("line", jsonline.EndAtSeparators(data)); err != nil {
		return nil, err
	}
	return d.File(data)
}

// LoadEither loads the final file of a session if there is one, and otherwise
// its partial file. Nil stands for a missing file. Returns ErrNotFound if both
// are missing.
func (d Dialect) LoadEither(path string, final, partial []byte) (Loaded, error) {
	switch {
	case final != nil:
		return d.Load(path, final)
	case partial != nil:
		return d.Load(path+partialSuffix, partial)
	}
	return Loaded{}, fmt.Errorf("persisted session file not found: %s: %w", path, core.ErrNotFound)
}

const partialSuffix = ".__partial__"

// FromEntries returns the session that a log keeps as h and es.
func FromEntries(h core.Header, es []core.Entry) (Loaded, error) {
	s, err := readHeader(h.Line)
	if err != nil {
		return Loaded{}, err
	}
	s.Rows = tableOf(es)
	t, closed := trailerOf(es)
	s.Usage = t.usage
	l := Loaded{Session: s, Closed: closed}
	if i := lastTrailer(es); closed {
		l.Trailer = es[i].Line
	}
	return l, nil
}
