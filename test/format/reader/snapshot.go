package reader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"strings"
)

const foldVersion = 3

// A Manifest is the body of a checkpoint.
type Manifest struct {
	Fold         int
	Log, Session string
	Seq          uint64
	Chain        string
	Object       string
	Size         int64
	SHA256       string
	Parts        []Part
	Origin       struct{ Dialect string }
	Heads        map[string]Head
	Epoch        uint64
	Closed       json.RawMessage
	Deleted      json.RawMessage
	Held         json.RawMessage
	Redacted     []string
}

// A Part is a piece of a snapshot.
type Part struct {
	Object string
	Size   int64
	SHA256 string
	Inline []byte // base64 in JSON
}

// restore returns the state that a checkpoint stands for.
func restore(log, id string, checkpoint *Record, src Source) (*State, error) {
	var m Manifest
	if err := json.Unmarshal(checkpoint.Body, &m); err != nil {
		return nil, err
	}
	if m.Log != log || m.Session != id || m.Fold > foldVersion {
		return nil, fmt.Errorf("a manifest of log %q, session %q, fold %d", m.Log, m.Session, m.Fold)
	}
	plain, err := m.plain(src)
	if err != nil {
		return nil, err
	}
	s := newState(log, id)
	s.Dialect = m.Origin.Dialect
	all := bytes.Split(bytes.TrimSuffix(plain, []byte("\n")), []byte("\n"))
	s.Header = all[0]
	es, err := s.read(all[1:])
	if err != nil {
		return nil, err
	}
	s.add(es)
	maps.Copy(s.Heads, m.Heads)
	for _, id := range m.Redacted {
		s.Redacted[id] = true
	}
	s.Epoch, s.Closed, s.Deleted, s.Held, s.Seq = m.Epoch, m.Closed, m.Deleted, m.Held, m.Seq
	return s, parseHex(s.Chain[:], m.Chain)
}

// plain returns the snapshot's lines: from its object, or else from its parts.
func (m *Manifest) plain(src Source) ([]byte, error) {
	plain, err := part(Part{Object: m.Object, Size: m.Size, SHA256: m.SHA256}, m, src)
	if err == nil || len(m.Parts) == 0 {
		return plain, err
	}
	for i, p := range m.Parts {
		b, err := part(p, m, src)
		if err == nil && i > 0 {
			b, err = patch(plain, b)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d of snapshot %s: %w", i+1, m.Object, err)
		}
		plain = b
	}
	if int64(len(plain)) != m.Size || digestOf(plain) != m.SHA256 {
		return nil, fmt.Errorf("the parts of snapshot %s come to something else", m.Object)
	}
	return plain, nil
}

func part(p Part, m *Manifest, src Source) ([]byte, error) {
	packed := p.Inline
	if p.Object != "" {
		if !strings.HasPrefix(p.Object, "snapshots/"+m.Log+"/"+m.Session+"/") || !fs.ValidPath(p.Object) {
			return nil, fmt.Errorf("key %q", p.Object)
		}
		var err error
		if packed, err = src.Object(p.Object); err != nil {
			return nil, err
		}
	}
	plain, err := inflate(packed, p.Size)
	if err == nil && (int64(len(plain)) != p.Size || digestOf(plain) != p.SHA256) {
		err = fmt.Errorf("%d bytes with digest %s", len(plain), digestOf(plain))
	}
	return plain, err
}

// patch returns base with a change made to it.
func patch(base, change []byte) ([]byte, error) {
	split := func(b []byte) [][]byte {
		all := bytes.SplitAfter(b, []byte("\n"))
		return all[:len(all)-1]
	}
	all, rest := split(base), split(change)
	if len(rest) == 0 {
		return nil, fmt.Errorf("an empty change")
	}
	var h struct {
		Lines    int
		Replaced []int
	}
	if err := json.Unmarshal(rest[0], &h); err != nil {
		return nil, err
	}
	rest = rest[1:]
	if h.Lines != len(all) || len(h.Replaced) > len(rest) {
		return nil, fmt.Errorf("a change of %d lines, there are %d", h.Lines, len(all))
	}
	for i, at := range h.Replaced {
		if at < 0 || at >= len(all) || i > 0 && at <= h.Replaced[i-1] {
			return nil, fmt.Errorf("a change of line %d", at)
		}
		all[at] = rest[i]
	}
	return bytes.Join(append(all, rest[len(h.Replaced):]...), nil), nil
}
