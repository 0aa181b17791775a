package core

import (
	"maps"
	"slices"
	"time"
)

// foldVersion names the rules of Apply. It changes when the same records would
// give another State.
const foldVersion = 3

// foldHolds is the first version of the rules with legal holds. A manifest with
// a hold names it, so that a node that would ignore the hold refuses to start
// from the snapshot. A manifest without holds and parts is of version 1.
const foldHolds = 2

// foldParts is the first version that knows snapshots of several parts.
const foldParts = 3

// A State is a session as its records left it. Make one with NewState, or with
// Restore from a snapshot. The zero State is of no use. A State is not safe
// for use by several goroutines while one of them calls Apply; what its
// methods return shares its memory and may not be changed.
type State struct {
	Log       string
	ID        SessionID
	Dialect   Dialect // nil before the first record, or when it is unknown here
	Origin    Origin
	Header    Header
	Entries   []Entry // live lines in first-appearance order
	Heads     map[string]*Head
	Epoch     uint64
	Closed    *Notice // set by close, cleared by the next append
	Deleted   *Notice // set while the session is in the trash
	Erased    *Notice // set permanently
	LegalHold *Notice // set while nothing of the session may be deleted, erased or redacted
	// Redacted entries may never be given other bytes again.
	Redacted map[string]bool
	// UnknownKind is the first kind met that this version does not know.
	UnknownKind Kind

	Seq   uint64
	Chain Chain
	Pos   Pos // of the last record folded
	// Appended is when the last open or append record was stored, by the clock of the
	// log, or of this node if it wrote the record. It is for listings. Zero if it is
	// unknown.
	Appended time.Time
	Base     Pos // of the latest open or checkpoint record
	// Checkpointed is the seq that the latest checkpoint's snapshot covers, and
	// SnapshotSize its plain size. Bytes counts the body bytes folded since the
	// first record, without checkpoints. Tail counts those that the snapshot
	// does not cover, which is what a new one would save.
	Checkpointed uint64
	SnapshotSize int64
	Bytes        int64
	Tail         int64
	// Snapshot refers to the latest checkpoint's snapshot.
	Snapshot SnapshotRef

	redacted uint64 // seq of the last redact
	growth   *Growth
	dialects Dialects
	byID     map[string]int
}

// A Growth stands for a time in which the entries of a State only grew: while
// State.Growth returns the same pointer, entries are added and none is replaced
// or removed. So what was derived from the entries can be continued.
type Growth struct{ _ byte } // with a size, so that each has an address

// Growth returns the current Growth. It differs from that of any other State.
func (s *State) Growth() *Growth { return s.growth }

// A SnapshotRef names a snapshot and counts what was written for it.
type SnapshotRef struct {
	Object  string // its key in the object store
	SHA256  Digest // of its plain bytes
	Packed  Digest // of the object
	Written int64  // plain bytes that were written of all snapshots of the session, this one included
	Parts   []Part // what it consists of, unless it is one object
}

// Size is how many bytes Render gives.
func (s *State) Size() int64 {
	n := int64(len(s.Header.Line) + 1)
	for i := range s.Entries {
		n += int64(len(s.Entries[i].Line) + 1)
	}
	return n
}

// A Head is a named position in the tree where a writer continues.
type Head struct {
	Leaf  Leaf   `json:"leaf"`
	Seq   uint64 `json:"seq"` // of the record that last moved it
	Claim *Claim `json:"claim,omitempty"`
}

// NewState returns the state before a session's first record.
func NewState(log string, id SessionID, dialects Dialects) *State {
	return &State{
		Log:      log,
		ID:       id,
		Chain:    ChainStart(log, id),
		Heads:    map[string]*Head{},
		Redacted: map[string]bool{},
		dialects: dialects,
		byID:     map[string]int{},
		growth:   &Growth{},
	}
}

// Cursor names the last record folded.
func (s *State) Cursor() Cursor {
	if s.Seq == 0 {
		return Cursor{}
	}
	return CursorOf(s.Seq, s.Chain)
}

// Entry returns the live entry called id, or the last of several.
func (s *State) Entry(id string) (Entry, bool) {
	i, ok := s.Index(id)
	if !ok {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// Index returns the index in Entries of the entry that Entry returns.
func (s *State) Index(id string) (int, bool) {
	i, ok := s.byID[id]
	return i, ok && id != ""
}

// Leaf returns the position of head. A head that does not exist yet is at the
// position of main.
func (s *State) Leaf(head string) Leaf {
	if h, ok := s.Heads[head]; ok {
		return h.Leaf
	}
	if h, ok := s.Heads[MainHead]; ok {
		return h.Leaf
	}
	return Leaf{}
}

// HeadNames returns the names of the heads, main first, the others by name.
func (s *State) HeadNames() []string {
	names := slices.Sorted(maps.Keys(s.Heads))
	if i := slices.Index(names, MainHead); i > 0 {
		names = append([]string{MainHead}, slices.Delete(names, i, i+1)...)
	}
	return names
}

// Render returns the canonical JSONL: the header line and every live entry
// line, with "\n" after each. The caller owns the result.
func (s *State) Render() []byte { return Lines(s.Header.Before(s.Entries)) }

// Lines returns the lines of es, with "\n" after each.
func Lines(es []Entry) []byte {
	n := 0
	for i := range es {
		n += len(es[i].Line) + 1
	}
	b := make([]byte, 0, n)
	for i := range es {
		b = append(b, es[i].Line...)
		b = append(b, '\n')
	}
	return b
}

// Before returns es after the header's line: the Layout of most agents.
func (h Header) Before(es []Entry) []Entry {
	return append([]Entry{{Line: h.Line}}, es...)
}

// index notes es[i:] in byID.
func (s *State) index(from int) {
	for i := from; i < len(s.Entries); i++ {
		if id := s.Entries[i].ID; id != "" {
			s.byID[id] = i
		}
	}
}
