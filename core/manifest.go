package core

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core/item"
)

// A Manifest is the body of a checkpoint record: it names a snapshot and holds
// all of the State that is not in the snapshot's lines.
type Manifest struct {
	Fold    int       `json:"fold"` // the version of the fold rules of the node that wrote it
	Log     string    `json:"log"`
	Session SessionID `json:"session"`
	Seq     uint64    `json:"seq"`   // of the last record the snapshot covers
	Chain   Chain     `json:"chain"` // of that record

	// Object is the snapshot's key in the object store. If there are Parts, the
	// object need not exist: the snapshot may be read from either.
	Object string `json:"object"`
	Size   int64  `json:"size"`   // bytes of the plain canonical JSONL
	SHA256 Digest `json:"sha256"` // of the same
	// Packed is the digest of the object that the writer stored. An object with
	// this digest is known to hold the plain bytes, so a reader skips their own
	// digest, which would take longer than all else. An object with another
	// digest may have equal content, compressed differently. Zero if unknown.
	Packed  Digest `json:"packed,omitzero"`
	Entries int    `json:"entries"` // lines after the header
	// Tidy says that Entry.Tidy is true for each of those lines.
	Tidy  bool  `json:"tidy,omitempty"`
	Bytes int64 `json:"bytes"` // State.Bytes
	// Appended is when the last open or append record was stored, for listings.
	// Manifests of older versions lack it.
	Appended time.Time `json:"appended,omitzero"`
	// Written is the sum of the sizes of all snapshots, and of all changes that are
	// objects, that were written of the session, this one included. Manifests that
	// lack it count as the first.
	Written int64 `json:"written,omitempty"`
	// Parts are what the snapshot consists of, in order, unless it is one
	// object.
	Parts []Part `json:"parts,omitempty"`
	// Window has those of the lines that contexts at the end of main are made of, so
	// that a reader of these needs no other lines. Optional.
	Window *WindowPart `json:"window,omitempty"`

	Origin    Origin           `json:"origin"`
	Heads     map[string]*Head `json:"heads"`
	Epoch     uint64           `json:"epoch"`
	Closed    *Notice          `json:"closed,omitempty"`
	Deleted   *Notice          `json:"deleted,omitempty"`
	LegalHold *Notice          `json:"held,omitempty"`
	Redacted  []string         `json:"redacted,omitempty"`

	// For listings and for the collector of blobs; not part of the fold.
	Title string     `json:"title,omitempty"`
	CWD   string     `json:"cwd,omitempty"`
	Usage item.Usage `json:"usage"`
	Blobs []Digest   `json:"blobs,omitempty"`
}

// Manifest returns the manifest of a snapshot of s whose plain bytes are plain
// and which lies at object. plain is s.Render().
func (s *State) Manifest(plain []byte, object string) *Manifest {
	sum := s.Dialect.Summary(s.Header, s.Entries)
	heads := make(map[string]*Head, len(s.Heads))
	maps.Copy(heads, s.Heads)
	m := &Manifest{
		Log:       s.Log,
		Session:   s.ID,
		Seq:       s.Seq,
		Chain:     s.Chain,
		Object:    object,
		Size:      int64(len(plain)),
		SHA256:    DigestOf(plain),
		Entries:   len(s.Entries),
		Tidy:      !slices.ContainsFunc(s.Entries, func(e Entry) bool { return !e.Tidy }),
		Bytes:     s.Bytes,
		Appended:  s.Appended,
		Written:   s.Snapshot.Written + int64(len(plain)),
		Origin:    s.Origin,
		Heads:     heads,
		Epoch:     s.Epoch,
		Closed:    s.Closed,
		Deleted:   s.Deleted,
		LegalHold: s.LegalHold,
		Redacted:  slices.Sorted(maps.Keys(s.Redacted)),
		Title:     sum.Name,
		CWD:       s.Header.CWD,
		Usage:     sum.Usage,
		Blobs:     s.Blobs(),
	}
	m.SetParts(nil)
	return m
}

// Reuse makes m name the snapshot of the previous checkpoint if that has the
// same plain bytes, and reports whether it does. In that case nothing needs to
// be written. s is the state that m describes. Parts from before a redaction
// are not reused: they may contain what was redacted, even if their combination
// does not.
func (m *Manifest) Reuse(s *State) bool {
	if s.Snapshot.Object == "" || s.Snapshot.SHA256 != m.SHA256 || s.SnapshotSize != m.Size {
		return false
	}
	if len(s.Snapshot.Parts) > 0 && s.RedactedAfter(s.Checkpointed) {
		return false
	}
	m.Object, m.Packed, m.Written = s.Snapshot.Object, s.Snapshot.Packed, s.Snapshot.Written
	m.SetParts(s.Snapshot.Parts)
	return true
}

func (m *Manifest) ref() SnapshotRef {
	return SnapshotRef{Object: m.Object, SHA256: m.SHA256, Packed: m.Packed, Written: max(m.Written, m.Size), Parts: m.Parts}
}

// Known returns ErrTooNew if m's snapshot follows fold rules that this version
// does not know.
func (m *Manifest) Known() error {
	if m.Fold <= foldVersion {
		return nil
	}
	return fmt.Errorf("snapshot %s was folded by rules %d, this version knows %d: %w", m.Object, m.Fold, foldVersion, ErrTooNew)
}

func (m *Manifest) otherBytes() error {
	return fmt.Errorf("snapshot %s is not the bytes its manifest names: %w", m.Object, ErrCorrupt)
}

// Restore returns the State that a manifest and its snapshot's plain bytes
// represent, as it was after record m.Seq; at is that record's position in the
// log. The State keeps plain. The caller verifies the digest of plain, before
// or while it is read, because that takes longer than the rest; if it differs
// from m.SHA256, the State must not be used. Lines that m marks as tidy are not
// checked again. Returns ErrCorrupt if plain is not such a snapshot.
func Restore(m *Manifest, plain []byte, at Pos, dialects Dialects) (*State, error) {
	if int64(len(plain)) != m.Size {
		return nil, m.otherBytes()
	}
	if err := m.Known(); err != nil {
		return nil, err
	}
	d, ok := dialects[m.Origin.Dialect]
	if !ok {
		return nil, fmt.Errorf("dialect %q of session %s is unknown: %w", clip(m.Origin.Dialect, 40), m.Session, ErrNotFound)
	}
	head, rest, _ := bytes.Cut(plain, []byte("\n"))
	h, err := d.Header(head)
	if err != nil {
		return nil, fmt.Errorf("header in snapshot %s: %v: %w", m.Object, err, ErrCorrupt)
	}
	es, err := m.entries(d, rest)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", m.Object, err)
	}
	s := NewState(m.Log, m.Session, dialects)
	s.Dialect, s.Origin, s.Header = d, m.Origin, h
	s.Entries, s.byID = es, make(map[string]int, len(es))
	s.index(0)
	for name, head := range m.Heads {
		if head == nil || CheckHead(name) != nil {
			return nil, fmt.Errorf("manifest of snapshot %s has no head at %q: %w", m.Object, clip(name, 64), ErrCorrupt)
		}
		s.Heads[name] = head
	}
	for _, id := range m.Redacted {
		s.Redacted[id] = true
	}
	s.Epoch, s.Closed, s.Deleted, s.LegalHold = m.Epoch, m.Closed, m.Deleted, m.LegalHold
	s.Seq, s.Chain, s.Pos = m.Seq, m.Chain, at
	s.Checkpointed, s.SnapshotSize, s.Bytes = m.Seq, m.Size, m.Bytes
	s.Appended = m.Appended
	s.Snapshot = m.ref()
	return s, nil
}

// entries reads the lines after the header.
func (m *Manifest) entries(d Dialect, lines []byte) ([]Entry, error) {
	g, ok := d.(TidyDecoder)
	if !ok || !m.Tidy {
		return readEntries(d, bodyLines(bytes.TrimSuffix(lines, []byte("\n"))))
	}
	es := make([]Entry, 0, min(max(m.Entries, 0), len(lines)))
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte("\n"))
		es = append(es, g.TidyEntry(line[:len(line):len(line)]))
		lines = rest
	}
	return es, nil
}

// Manifest reads the body of a checkpoint record.
func (r *Record) Manifest() (*Manifest, error) {
	var m Manifest
	if err := readBody(r, &m); err != nil {
		return nil, err
	}
	return &m, nil
}
