package core

import "slices"

// A Part is one piece of a snapshot. The first part is an earlier snapshot,
// whole. Each other part is a change, as Diff makes it, of the result of the
// parts before it. The packed bytes are an object, or inline.
type Part struct {
	Object string `json:"object,omitempty"` // its key in the object store
	Size   int64  `json:"size"`             // of the plain bytes
	SHA256 Digest `json:"sha256"`           // of the same
	Packed Digest `json:"packed,omitzero"`  // of the packed bytes, as Manifest.Packed
	Inline []byte `json:"inline,omitempty"` // the packed bytes, if there is no object
}

// Whole is m's snapshot as one part: the object that it is, or that it would be
// if it had no parts.
func (m *Manifest) Whole() Part {
	return Part{Object: m.Object, Size: m.Size, SHA256: m.SHA256, Packed: m.Packed}
}

// Objects returns the keys of all objects that m's snapshot may be read from.
func (m *Manifest) Objects() []string { return objects(m.Object, m.Parts) }

// SetParts sets what m's snapshot consists of: nil for one object.
func (m *Manifest) SetParts(parts []Part) {
	m.Parts, m.Fold = parts, 1
	if m.LegalHold != nil {
		m.Fold = foldHolds
	}
	if len(parts) > 0 {
		m.Fold = foldParts
	}
}

// Objects returns the keys of all objects that the snapshot may be read from.
func (r *SnapshotRef) Objects() []string { return objects(r.Object, r.Parts) }

func objects(whole string, parts []Part) []string {
	keys := []string{whole}
	for i := range parts {
		if key := parts[i].Object; key != "" {
			keys = append(keys, key)
		}
	}
	return slices.Compact(keys)
}

// RedactedAfter reports whether entries were redacted after record seq, which
// is not before the latest checkpoint's.
func (s *State) RedactedAfter(seq uint64) bool { return s.redacted > seq }

// FormerParts returns the parts of the latest snapshot for another snapshot to
// build on, or none if entries were redacted since.
func (s *State) FormerParts() []Part {
	switch {
	case s.Snapshot.Object == "" || s.RedactedAfter(s.Checkpointed):
		return nil
	case len(s.Snapshot.Parts) > 0:
		return s.Snapshot.Parts
	}
	return []Part{{Object: s.Snapshot.Object, Size: s.SnapshotSize, SHA256: s.Snapshot.SHA256, Packed: s.Snapshot.Packed}}
}
