package operator

import (
	"bytes"
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
)

// Info describes the session whose leaf is leaf. The name is that of the branch
// that ends there; the labels are the last ones, on whatever branch they are.
// Entries that Operator does not read are counted. Returns ErrNotFound if leaf
// names an entry that does not exist.
func (Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return display.Info{}, err
	}
	at, byID, err := find(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := display.Info{
		Header:    valid(bytes.TrimSpace(h.Line)),
		Version:   json.RawMessage("null"),
		SessionID: h.ID,
		CWD:       h.CWD,
		Types:     map[string]int{},
		Labels:    map[string]string{},
	}
	if v := o.Get("version"); v != nil {
		info.Version = valid(v)
	}
	if at >= 0 && es[at].ID != "" {
		info.LeafID = &es[at].ID
	}
	path := climb(es, at, byID)
	if s := nameOn(path); s != "" {
		info.Name = &s
	}
	info.Own = ownOf(&o, path)
	for _, e := range entriesOf(es) {
		info.EntryCount++
		info.Types[e.Type]++
	}
	for id, l := range labelsOf(es) {
		info.Labels[id] = l.text
	}
	return info, nil
}

// nameOn is the last name on path that is not blank, trimmed, or empty if there
// is none.
func nameOn(path []core.Entry) string {
	return lastText(path, typeInfo, "name", strip)
}

// Channel returns the last channel of the branch ending at leaf, or empty if it
// has none. Errors are those of Path.
func Channel(es []core.Entry, leaf core.Leaf) (string, error) {
	path, err := Dialect{}.Path(es, leaf)
	if err != nil {
		return "", err
	}
	return channelOn(path), nil
}

func channelOn(path []core.Entry) string {
	return lastText(path, typeChannel, "name", func(s string) string { return s })
}

// lastText is the last member of entries of that type that clean leaves
// something of.
func lastText(path []core.Entry, kind, member string, clean func(string) string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Type != kind {
			continue
		}
		o, err := read(path[i])
		if err != nil {
			continue
		}
		s, _ := o.Get(member).Text()
		if s = clean(s); s != "" {
			return s
		}
	}
	return ""
}

// valid replaces invalid UTF-8 in the text of a JSON value by U+FFFD.
func valid(v []byte) []byte { return bytes.ToValidUTF8(v, []byte("\uFFFD")) }
