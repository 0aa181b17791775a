package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// ErrOrphan is a record that does not follow the previous one in the chain.
// Readers find such records after a broker lost its tail; see
// docs/ARCHITECTURE.md.
var ErrOrphan = errors.New("record does not follow the chain")

// Follows reports whether r is the next record of s: its seq is the next and
// its chain is right.
func (s *State) Follows(r *Record) bool {
	return r.Seq == s.Seq+1 && s.Chain.Next(r) == r.Chain
}

// Apply folds r into s. An error leaves s as it was: ErrOrphan when r does not
// follow, ErrCorrupt when its body is not what its kind asks for, ErrNotFound
// when its dialect is unknown here.
func (s *State) Apply(r *Record) error { return s.ApplyRead(r, nil) }

// ApplyRead is Apply for an append whose lines the caller has read: es are its entries. If
// es is nil, the lines are read.
func (s *State) ApplyRead(r *Record, es []Entry) error {
	if !s.Follows(r) {
		return fmt.Errorf("record %d (%s) after record %d: %w", r.Seq, r.Kind, s.Seq, ErrOrphan)
	}
	if err := s.fold(r, es); err != nil {
		return err
	}
	s.Seq, s.Chain, s.Pos = r.Seq, r.Chain, r.Pos
	if r.Epoch > s.Epoch {
		s.Epoch = r.Epoch
	}
	if r.Kind == KindOpen || r.Kind == KindCheckpoint || r.Kind == KindErase {
		s.Base = r.Pos
	}
	if r.Kind == KindOpen || r.Kind == KindAppend {
		s.Appended = r.Time
	}
	if r.Kind != KindCheckpoint {
		s.Bytes += int64(len(r.Body))
		s.Tail += int64(len(r.Body))
	}
	return nil
}

// fold is ApplyRead for a record that follows: it changes s or returns an error.
func (s *State) fold(r *Record, es []Entry) error {
	if (s.Seq == 0) != (r.Kind == KindOpen) {
		return fmt.Errorf("%s as record %d: %w", r.Kind, r.Seq, ErrCorrupt)
	}
	if err := checkNames(r); err != nil {
		return err
	}
	switch r.Kind {
	case KindOpen:
		return s.foldOpen(r)
	case KindAppend:
		return s.foldAppend(r, es)
	case KindAmend:
		return s.foldAmend(r)
	case KindHead:
		return s.foldHead(r)
	case KindClaim:
		return s.foldClaim(r)
	case KindRelease:
		return s.foldRelease(r)
	case KindCheckpoint:
		return s.foldCheckpoint(r)
	case KindClose:
		return readInto(r, &s.Closed)
	case KindDelete:
		return readInto(r, &s.Deleted)
	case KindUndelete:
		s.Deleted = nil
		return nil
	case KindErase:
		return s.foldErase(r)
	case KindHold:
		return readInto(r, &s.LegalHold)
	case KindUnhold:
		s.LegalHold = nil
		return nil
	case KindRedact:
		return s.foldRedact(r)
	}
	if s.UnknownKind == "" {
		s.UnknownKind = r.Kind
	}
	return nil
}

// checkNames refuses the record of a head or a writer whose name a manifest
// could not give back.
func checkNames(r *Record) error {
	switch r.Kind {
	case KindAppend, KindHead, KindClaim, KindRelease:
		if err := CheckHead(r.Head); err != nil {
			return fmt.Errorf("%s record %d: %v: %w", r.Kind, r.Seq, err, ErrCorrupt)
		}
	}
	if r.Kind == KindClaim && (r.Writer == "" || !utf8.ValidString(r.Writer)) {
		return fmt.Errorf("claim record %d: writer %q: %w", r.Seq, clip(r.Writer, 40), ErrCorrupt)
	}
	return nil
}

func (s *State) foldOpen(r *Record) error {
	lines := bodyLines(r.Body)
	if len(lines) < 2 {
		return fmt.Errorf("open record has %d lines, it needs an origin and a header: %w", len(lines), ErrCorrupt)
	}
	var o Origin
	if err := readBody(&Record{Kind: r.Kind, Seq: r.Seq, Body: lines[0]}, &o); err != nil {
		return err
	}
	d, ok := s.dialects[o.Dialect]
	if !ok {
		return fmt.Errorf("dialect %q of session %s is unknown: %w", clip(o.Dialect, 40), s.ID, ErrNotFound)
	}
	h, err := d.Header(lines[1])
	if err != nil {
		return fmt.Errorf("header of session %s: %v: %w", s.ID, err, ErrCorrupt)
	}
	es, err := readEntries(d, lines[2:])
	if err != nil {
		return err
	}
	s.Origin, s.Dialect, s.Header = o, d, h
	s.add(es)
	leaf := NoLeaf
	if AnyInTree(es) {
		leaf = s.existing(d.Leaf(es))
	}
	s.Heads[MainHead] = &Head{Leaf: leaf, Seq: r.Seq}
	return nil
}

func (s *State) foldAppend(r *Record, es []Entry) error {
	es, err := appended(s.Dialect, r, es)
	if err != nil {
		return err
	}
	s.add(es)
	s.Closed = nil
	if l, ok := s.Dialect.(Linker); ok {
		was := s.Leaf(r.Head)
		if leaf := s.existing(l.LeafAfter(was, es, s.Entries, s.Entry)); AnyInTree(es) || leaf != was {
			s.move(r, leaf)
		}
		return nil
	}
	if AnyInTree(es) {
		s.move(r, s.existing(s.Dialect.Leaf(es)))
	}
	return nil
}

func (s *State) foldAmend(r *Record) error {
	es, err := readEntries(s.Dialect, bodyLines(r.Body))
	if err != nil {
		return err
	}
	for i := range es {
		if _, ok := s.Entry(es[i].ID); !ok {
			return fmt.Errorf("amend record %d names entry %q, which does not exist: %w", r.Seq, clip(es[i].ID, 64), ErrCorrupt)
		}
	}
	entries := slices.Clone(s.Entries) // readers may hold the old one
	for i := range es {
		entries[s.byID[es[i].ID]] = es[i]
	}
	s.Entries, s.growth = entries, &Growth{}
	return nil
}

// foldRedact replaces entries permanently. The body is a notice, followed by
// the new lines of the entries. The origin no longer names the imported file,
// which has the old lines.
func (s *State) foldRedact(r *Record) error {
	first, rest, _ := bytes.Cut(r.Body, []byte("\n"))
	var n Notice
	if err := readBody(&Record{Kind: r.Kind, Seq: r.Seq, Body: first}, &n); err != nil {
		return err
	}
	es, err := readEntries(s.Dialect, bodyLines(rest))
	if err != nil {
		return err
	}
	lines := make(map[string]*Entry, len(es))
	for i := range es {
		if _, ok := s.Entry(es[i].ID); !ok {
			return fmt.Errorf("redact record %d names entry %q, which does not exist: %w", r.Seq, clip(es[i].ID, 64), ErrCorrupt)
		}
		lines[es[i].ID] = &es[i]
	}
	entries := slices.Clone(s.Entries) // readers may hold the old one
	for i := range s.Entries {
		if e := lines[s.Entries[i].ID]; e != nil { // every entry with that id, if a file had several
			entries[i] = *e
		}
	}
	s.Entries, s.growth = entries, &Growth{}
	for id := range lines {
		s.Redacted[id] = true
	}
	s.Origin.Original, s.Origin.OriginalSize = Digest{}, 0
	s.redacted = r.Seq
	return nil
}

func (s *State) foldHead(r *Record) error {
	var m Move
	if err := readBody(r, &m); err != nil {
		return err
	}
	s.move(r, m.Leaf)
	return nil
}

func (s *State) foldClaim(r *Record) error {
	var c Claim
	if err := readBody(r, &c); err != nil {
		return err
	}
	c.Writer, c.Epoch, c.Seq = r.Writer, r.Epoch, r.Seq
	h := s.head(r.Head)
	s.Heads[r.Head] = &Head{Leaf: h.Leaf, Seq: h.Seq, Claim: &c}
	return nil
}

func (s *State) foldRelease(r *Record) error {
	h, ok := s.Heads[r.Head]
	if !ok || h.Claim == nil || h.Claim.Writer != r.Writer {
		return nil // its claim was over already
	}
	s.Heads[r.Head] = &Head{Leaf: h.Leaf, Seq: h.Seq}
	return nil
}

func (s *State) foldCheckpoint(r *Record) error {
	var m Manifest
	if err := readBody(r, &m); err != nil {
		return err
	}
	if m.Seq > s.Seq {
		return fmt.Errorf("checkpoint record %d covers record %d, which is not before it: %w", r.Seq, m.Seq, ErrCorrupt)
	}
	s.Checkpointed, s.SnapshotSize, s.Tail = m.Seq, m.Size, max(0, s.Bytes-m.Bytes)
	s.Snapshot = m.ref()
	return nil
}

func (s *State) foldErase(r *Record) error {
	if err := readInto(r, &s.Erased); err != nil {
		return err
	}
	s.Entries, s.byID, s.growth = nil, map[string]int{}, &Growth{}
	return nil
}

// existing returns leaf, or NoLeaf if it names an entry that does not exist, as
// agents read such a leaf.
func (s *State) existing(leaf Leaf) Leaf {
	if id, ok := leaf.ID(); ok {
		if _, there := s.byID[id]; !there {
			return NoLeaf
		}
	}
	return leaf
}

// add appends es to the live lines. Readers that hold the old slice do not see
// them, because the elements are beyond its end.
func (s *State) add(es []Entry) {
	n := len(s.Entries)
	s.Entries = append(s.Entries, es...)
	s.index(n)
}

// head returns the head called name, or its initial value if it does not exist.
func (s *State) head(name string) *Head {
	if h, ok := s.Heads[name]; ok {
		return h
	}
	return &Head{Leaf: s.Leaf(name), Seq: s.Seq}
}

func (s *State) move(r *Record, leaf Leaf) {
	s.Heads[r.Head] = &Head{Leaf: leaf, Seq: r.Seq, Claim: s.head(r.Head).Claim}
}

func readEntries(d Decoder, lines [][]byte) ([]Entry, error) {
	es := make([]Entry, len(lines))
	for i, line := range lines {
		e, err := d.Entry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of a body: %v: %w", i+1, err, ErrCorrupt)
		}
		es[i] = e
	}
	return es, nil
}

// appended returns the entries of an append, with lines that share memory with its body.
// They are read unless es has them.
func appended(d Decoder, r *Record, es []Entry) ([]Entry, error) {
	lines := bodyLines(r.Body)
	if len(es) != len(lines) {
		return readEntries(d, lines)
	}
	es = slices.Clone(es)
	for i := range es {
		es[i].Line = lines[i]
	}
	return es, nil
}

// readInto sets *to to the notice in r's body.
func readInto(r *Record, to **Notice) error {
	var n Notice
	if err := readBody(r, &n); err != nil {
		return err
	}
	*to = &n
	return nil
}
