package core

import (
	"bytes"
	"fmt"
)

// A Proposal is lines that a writer wants appended to a head.
type Proposal struct {
	Head   string
	Writer string
	// Claimed says that the writer speaks from a claim. Unless the head is
	// still its own, the writer is fenced, even if the head is free by now.
	Claimed bool
	// Loose admits what a file may contain and an API caller may not send: a
	// line without an id, a parent that is nowhere, an id that two of the lines
	// have.
	Loose bool
	// After is where the caller last saw the session: the head must not have
	// moved since. Nil for any position.
	After *Cursor
	// Exact requires that the session has no record at all since After.
	Exact bool
	// Pending are entries admitted already to the record that these would be
	// part of.
	Pending []Entry
	// Entries are the lines, as the log would keep them.
	Entries []Entry
}

// Admit checks p against s and returns the entries that remain to be stored, in
// order, or none if the session has them all. It does not change s. The errors:
//
//	ErrDeleted, ErrTooNew   nothing can be appended to this session
//	*FencedError            another writer holds the head
//	*ConflictError          the head moved since p.After, or with p.Exact anything did
//	*LineError              a line breaks a rule (ErrInvalid), or its id exists
//	                        with other bytes (ErrConflict)
func (s *State) Admit(p Proposal) ([]Entry, error) {
	if s.hasAll(&p) { // a writer that was fenced since may still ask
		return nil, nil
	}
	if err := s.CheckWritable(); err != nil {
		return nil, err
	}
	if err := s.CheckWriter(p.Head, p.Writer, p.Claimed); err != nil {
		return nil, err
	}
	fresh, err := s.admitLines(p)
	if err != nil || len(fresh) == 0 {
		return nil, err
	}
	switch {
	case p.After == nil:
	case p.Exact:
		err = s.CheckUnchanged(*p.After)
	default:
		err = s.CheckUnmoved(p.Head, *p.After)
	}
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// hasAll reports whether the session has every line of p under its id.
func (s *State) hasAll(p *Proposal) bool {
	for i := range p.Entries {
		old, ok := s.Entry(p.Entries[i].ID)
		if !ok || !bytes.Equal(old.Line, p.Entries[i].Line) {
			return false
		}
	}
	return len(p.Entries) > 0
}

// CheckWritable returns why nothing may be written to the session, or nil.
func (s *State) CheckWritable() error {
	switch {
	case s.Seq == 0:
		return fmt.Errorf("session %s: %w", s.ID, ErrNotFound)
	case s.Erased != nil:
		return fmt.Errorf("session %s was erased by %s, its id is never used again: %w\nhint: list erasures with: sessctl audit", s.ID, by(s.Erased), ErrDeleted)
	case s.UnknownKind != "":
		return fmt.Errorf("session %s has a record of kind %q, upgrade this node to write to it: %w", s.ID, clip(string(s.UnknownKind), 40), ErrTooNew)
	case s.Deleted != nil:
		return fmt.Errorf("session %s was deleted by %s (undo with: sessctl rm --undo %s): %w", s.ID, by(s.Deleted), s.ID, ErrDeleted)
	}
	return nil
}

// CheckRemovable returns why nothing of the session may be deleted, erased or
// redacted, which is a hold, or nil.
func (s *State) CheckRemovable() error {
	if s.LegalHold == nil {
		return nil
	}
	return fmt.Errorf("session %s is held by %s (release with: sessctl legal-hold --release %s --why TEXT): %w", s.ID, by(s.LegalHold), s.ID, ErrHeld)
}

// CheckWriter returns a *FencedError unless writer may write to head: no other
// writer holds it and, if holds is set, writer itself does.
func (s *State) CheckWriter(head, writer string, holds bool) error {
	if err := CheckHead(head); err != nil {
		return err
	}
	var claim *Claim
	if h, ok := s.Heads[head]; ok {
		claim = h.Claim
	}
	if claim == nil && !holds || claim != nil && claim.Writer == writer {
		return nil
	}
	return &FencedError{Session: s.ID, Head: head, Holder: claim}
}

// CheckUnmoved returns a *ConflictError if head moved since after. A head that
// does not exist yet moves with main.
func (s *State) CheckUnmoved(head string, after Cursor) error {
	h, ok := s.Heads[head]
	if !ok {
		h = s.head(MainHead)
	}
	if h.Seq <= after.Seq && after.Seq < s.Seq || after == s.Cursor() {
		return nil
	}
	return &ConflictError{Session: s.ID, Head: head, Want: after, Have: s.Cursor(), Leaf: s.Leaf(head)}
}

// CheckUnchanged returns a *ConflictError without a head if the session has any
// record since at.
func (s *State) CheckUnchanged(at Cursor) error {
	if at == s.Cursor() {
		return nil
	}
	return &ConflictError{Session: s.ID, Want: at, Have: s.Cursor()}
}

func (s *State) admitLines(p Proposal) ([]Entry, error) {
	var fresh []Entry
	mine := make(map[string]*Entry, len(p.Pending)+len(p.Entries))
	last := lastOf(s.Entries, p.Pending)
	for i := range p.Pending {
		mine[p.Pending[i].ID] = &p.Pending[i]
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		old, taken := s.Entry(e.ID)
		if m := mine[e.ID]; m != nil && e.ID != "" {
			old, taken = *m, true
		}
		if taken && bytes.Equal(old.Line, e.Line) {
			continue
		}
		if err := s.admitLine(p, e, taken, last, mine); err != nil {
			return nil, &LineError{Line: i + 1, ID: e.ID, Err: err}
		}
		mine[e.ID], last = e, *e
		fresh = append(fresh, *e)
	}
	return fresh, nil
}

// lastOf returns the last entry of the lists, zero if there is none.
func lastOf(lists ...[]Entry) (last Entry) {
	for _, es := range lists {
		if len(es) > 0 {
			last = es[len(es)-1]
		}
	}
	return last
}

func (s *State) admitLine(p Proposal, e *Entry, taken bool, last Entry, mine map[string]*Entry) error {
	if bytes.IndexByte(e.Line, '\n') >= 0 {
		return fmt.Errorf("it is more than one line: %w", ErrInvalid)
	}
	if s.Redacted[e.ID] {
		return fmt.Errorf("this entry was redacted, its id takes no other bytes: %w", ErrConflict)
	}
	if _, stored := s.Index(e.ID); p.Loose && !stored {
		return nil
	}
	if taken {
		return fmt.Errorf("this id exists already with other bytes: %w", ErrConflict)
	}
	if e.ID == "" {
		return fmt.Errorf("it has no id: %w", ErrInvalid)
	}
	if len(e.ID) > MaxEntryID {
		return fmt.Errorf("its id is %d bytes long, %d are allowed: %w", len(e.ID), MaxEntryID, ErrInvalid)
	}
	there := func(id string) bool {
		_, before := s.byID[id]
		_, now := mine[id]
		return before || now
	}
	if e.Parent != "" && !there(e.Parent) {
		return fmt.Errorf("its parent %q does not exist before it: %w", clip(e.Parent, 64), ErrInvalid)
	}
	if a, ok := s.Dialect.(Admitter); ok {
		count := func() int {
			n := CountInTree(s.Entries)
			for _, m := range mine {
				n += CountInTree([]Entry{*m})
			}
			return n
		}
		if err := a.Admit(Admission{Header: s.Header, Last: last, Has: there, Count: count}, *e); err != nil {
			return err
		}
	}
	if e.Aside {
		return nil
	}
	// Some entries move the head to another entry, which has to exist.
	if leaf, ok := s.Dialect.Leaf([]Entry{*e}).ID(); ok && leaf != e.ID && !there(leaf) {
		return fmt.Errorf("it moves the head to entry %q, which does not exist before it: %w", clip(leaf, 64), ErrInvalid)
	}
	return nil
}

// MaxEntryID is how many bytes an entry's id may have on its way in through
// the API.
const MaxEntryID = 256

func by(n *Notice) string {
	who := n.By
	if who == "" {
		who = "an unknown user"
	}
	if n.Host != "" {
		who += " on " + n.Host
	}
	if !n.Time.IsZero() {
		who += " at " + n.Time.UTC().Format("2006-01-02 15:04:05Z")
	}
	if n.Why != "" {
		who += " (" + clip(n.Why, 200) + ")"
	}
	return who
}
