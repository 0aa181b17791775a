package openrath

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/display"
)

// own is what only OpenRath's sessions have.
type own struct {
	SchemaVersion   int             `json:"schemaVersion"`
	Closed          bool            `json:"closed"`
	Kind            LineageKind     `json:"kind"`
	Operator        string          `json:"operator"`
	Parents         []string        `json:"parents"`
	Extras          json.RawMessage `json:"extras"` // pairs of a name and a value, of the header and the trailer
	Sandbox         ownSandbox      `json:"sandbox"`
	CumulativeUsage json.RawMessage `json:"cumulativeUsage"` // as the trailer has it, or else the header, or null
	CreatedAt       string          `json:"createdAt"`
	ClosedAt        *string         `json:"closedAt"`
	FinalChunkCount json.RawMessage `json:"finalChunkCount"` // as the trailer has it, or null
}

type ownSandbox struct {
	Backend *string         `json:"backend"`
	Spec    json.RawMessage `json:"spec"`
	Handle  *string         `json:"handle"`
}

// Info describes the session whose leaf is leaf. Its entries are the chunks,
// and their types the kinds; a trailer is not an entry. Such sessions have no
// name and no labels. Returns ErrNotFound if leaf names a chunk that does not
// exist.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	s, err := readHeader(h.Line)
	if err != nil {
		return display.Info{}, err
	}
	path, err := d.Path(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := display.Info{
		Header:    json.RawMessage(bytes.TrimSpace(h.Line)),
		Version:   jsonOf(Version),
		SessionID: h.ID,
		CWD:       h.CWD,
		Types:     map[string]int{},
		Labels:    map[string]string{},
	}
	if n := len(path); n > 0 && path[n-1].ID != "" {
		info.LeafID = &path[n-1].ID
	}
	for _, e := range frame.Rows(es) {
		info.EntryCount++
		info.Types[e.Type]++
	}
	info.Own, err = json.Marshal(ownOf(s, es))
	return info, err
}

func ownOf(s Session, es []core.Entry) own {
	o := own{
		SchemaVersion: Version, Kind: s.Kind, Operator: s.Operator, CreatedAt: s.Created,
		Parents: append([]string{}, s.Parents...), Extras: extrasText(s.Extras),
		Sandbox:         ownSandbox{orNil(s.Sandbox.Backend), s.Sandbox.Spec, orNil(s.Sandbox.Handle)},
		CumulativeUsage: usageOf(s, es).text(), FinalChunkCount: json.RawMessage(null),
	}
	t, closed := trailerOf(es)
	if !closed {
		return o
	}
	o.Closed, o.ClosedAt, o.Extras = true, &t.closed, extrasText(slices.Concat(s.Extras, t.extras))
	if _, ok := t.chunks.Number(); ok {
		o.FinalChunkCount = rawOf(t.chunks)
	}
	return o
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// NewLabel and NewName return nil: OpenRath's sessions have neither.
func (Dialect) NewLabel(string, string) []byte { return nil }

// NewName returns nil.
func (Dialect) NewName(string) []byte { return nil }

// ImageStore is empty: OpenRath's chunks hold no images.
func (Dialect) ImageStore() string { return "" }
