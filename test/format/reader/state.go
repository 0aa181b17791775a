package reader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// errOrder is a record that does not follow the one before it.
var errOrder = errors.New("the record does not follow the chain")

// A State is a session as its records left it.
type State struct {
	Log, ID string
	Dialect string
	Header  []byte
	Heads   map[string]Head
	Epoch   uint64
	Seq     uint64
	Chain   [32]byte

	// Notices, nil if there is none.
	Closed, Deleted, Held, Erased json.RawMessage
	// Redacted entries never take other bytes.
	Redacted map[string]bool
	// Unknown is the first kind of record that this reader does not know.
	Unknown string
	// Orphans are the stream sequences of records that were passed by.
	Orphans []uint64

	entries []entry
	at      map[string]int // the last entry of each id
}

// A Head is a named place in a session.
type Head struct {
	Leaf  Leaf            `json:"leaf"`
	Seq   uint64          `json:"seq"`
	Claim json.RawMessage `json:"claim,omitempty"`
}

// Writer is who holds the head, empty if it is free.
func (h Head) Writer() string {
	var c struct{ Writer string }
	_ = json.Unmarshal(h.Claim, &c)
	return c.Writer
}

func newState(log, id string) *State {
	return &State{
		Log: log, ID: id, Chain: FirstChain(log, id), Heads: map[string]Head{}, Redacted: map[string]bool{}, at: map[string]int{},
	}
}

// apply folds r into s.
func (s *State) apply(r *Record) error {
	if r.Seq != s.Seq+1 || NextChain(s.Chain, r) != r.Chain {
		return fmt.Errorf("%s record %d after record %d: %w", r.Kind, r.Seq, s.Seq, errOrder)
	}
	if (r.Kind == "open") != (s.Seq == 0) {
		return fmt.Errorf("record %d is of kind %s", r.Seq, r.Kind)
	}
	if err := s.fold(r); err != nil {
		return fmt.Errorf("%s record %d: %w", r.Kind, r.Seq, err)
	}
	s.Seq, s.Chain, s.Epoch = r.Seq, r.Chain, max(s.Epoch, r.Epoch)
	return nil
}

func (s *State) fold(r *Record) error {
	switch r.Kind {
	case "open":
		return s.open(r)
	case "append":
		es, err := s.read(lines(r.Body))
		if err != nil {
			return err
		}
		s.add(es)
		s.Closed = nil
		if leaf, moves := s.standing(es); moves {
			s.move(r, leaf)
		}
	case "amend":
		return s.replace(r.Body, false)
	case "redact":
		_, rest, _ := bytes.Cut(r.Body, []byte("\n"))
		return s.replace(rest, true)
	case "head":
		var m struct{ Leaf Leaf }
		if err := json.Unmarshal(r.Body, &m); err != nil {
			return err
		}
		s.move(r, m.Leaf)
	case "claim":
		return s.claim(r)
	case "release":
		if h, ok := s.Heads[r.Head]; ok && h.Writer() == r.Writer {
			h.Claim = nil
			s.Heads[r.Head] = h
		}
	case "close":
		s.Closed = r.Body
	case "delete":
		s.Deleted = r.Body
	case "undelete":
		s.Deleted = nil
	case "hold":
		s.Held = r.Body
	case "unhold":
		s.Held = nil
	case "erase":
		s.Erased, s.entries, s.at = r.Body, nil, map[string]int{}
	case "checkpoint":
	default:
		if s.Unknown == "" {
			s.Unknown = r.Kind
		}
	}
	return nil
}

// lines splits a body into its lines. An empty body has none.
func lines(body []byte) [][]byte {
	if len(body) == 0 {
		return nil
	}
	return bytes.Split(body, []byte("\n"))
}

func (s *State) open(r *Record) error {
	all := lines(r.Body)
	if len(all) < 2 {
		return errors.New("an origin or a header is missing")
	}
	var origin struct{ Dialect string }
	if err := json.Unmarshal(all[0], &origin); err != nil {
		return err
	}
	s.Dialect, s.Header = origin.Dialect, all[1]
	es, err := s.read(all[2:])
	if err != nil {
		return err
	}
	s.add(es)
	leaf, moves := s.standing(es)
	if !moves {
		leaf = Leaf{None: true}
	}
	s.Heads["main"] = Head{Leaf: leaf, Seq: r.Seq}
	return nil
}

func (s *State) read(all [][]byte) ([]entry, error) {
	es := make([]entry, len(all))
	for i, line := range all {
		var err error
		if es[i], err = readEntry(s.Dialect, line); err != nil {
			return nil, err
		}
	}
	return es, nil
}

func (s *State) add(es []entry) {
	for _, e := range es {
		if e.id != "" {
			s.at[e.id] = len(s.entries)
		}
		s.entries = append(s.entries, e)
	}
}

// standing is the leaf of es; before every entry if it names one that is absent.
func (s *State) standing(es []entry) (leaf Leaf, moves bool) {
	leaf, moves = leafOf(s.Dialect, es)
	if _, ok := s.at[leaf.ID]; leaf.ID != "" && !ok {
		leaf = Leaf{None: true}
	}
	return leaf, moves
}

// replace puts lines in the places of entries: the last one of an id, or all.
func (s *State) replace(body []byte, all bool) error {
	es, err := s.read(lines(body))
	if err != nil {
		return err
	}
	for _, e := range es {
		at, ok := s.at[e.id]
		if !ok {
			return fmt.Errorf("entry %q does not exist", e.id)
		}
		for i := range s.entries {
			if i == at || all && s.entries[i].id == e.id {
				s.entries[i] = e
			}
		}
		s.Redacted[e.id] = s.Redacted[e.id] || all
	}
	return nil
}

// head is the head called name, or as it would begin.
func (s *State) head(name string) Head {
	if h, ok := s.Heads[name]; ok {
		return h
	}
	return Head{Leaf: s.Heads["main"].Leaf, Seq: s.Seq}
}

func (s *State) move(r *Record, leaf Leaf) {
	s.Heads[r.Head] = Head{Leaf: leaf, Seq: r.Seq, Claim: s.head(r.Head).Claim}
}

func (s *State) claim(r *Record) error {
	var c map[string]any
	if err := json.Unmarshal(r.Body, &c); err != nil {
		return err
	}
	c["writer"], c["epoch"], c["seq"] = r.Writer, r.Epoch, r.Seq
	h := s.head(r.Head)
	var err error
	h.Claim, err = json.Marshal(c)
	s.Heads[r.Head] = h
	return err
}

// Canonical is the session's canonical JSONL.
func (s *State) Canonical() []byte {
	if s.Erased != nil {
		return nil
	}
	out := append(slices.Clone(s.Header), '\n')
	for i := range s.entries {
		out = append(append(out, s.entries[i].line...), '\n')
	}
	return out
}

// Export is the session as its agent's file: images in their places, lines in
// the order of its dialect. It does not know Nova's file, which is no list of
// lines, nor the new title slot of an omp session that was renamed in the log.
func (s *State) Export(src Source) ([]byte, error) {
	var out []byte
	for _, line := range layout(s.Dialect, s.Header, s.entries) {
		whole, err := PutImages(line, src)
		if err != nil {
			return nil, err
		}
		out = append(append(out, whole...), '\n')
	}
	return out, nil
}
