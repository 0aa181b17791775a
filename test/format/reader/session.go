package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Read returns the session that records come to. They are those of the session
// that the log has, in the order of the stream; those that nothing refers to
// any more may be missing.
func Read(log, id string, records []*Record, src Source) (*State, error) {
	if len(records) == 0 {
		return nil, fs.ErrNotExist
	}
	last := records[len(records)-1]
	base := last.Base
	switch last.Kind {
	case "erase":
		s := newState(log, id)
		s.Seq, s.Chain, s.Epoch, s.Erased = last.Seq, last.Chain, last.Epoch, last.Body
		return s, nil
	case "open", "checkpoint":
		base = last.Pos
	}
	s, err := readFrom(log, id, base, records, src)
	for i := len(records) - 1; i >= 0 && err != nil; i-- {
		if k := records[i].Kind; k == "open" || k == "checkpoint" {
			if older, olderErr := readFrom(log, id, records[i].Pos, records, src); olderErr == nil {
				return older, nil
			}
		}
	}
	return s, err
}

// readFrom reads the session from the record at base on.
func readFrom(log, id string, base uint64, records []*Record, src Source) (*State, error) {
	var first *Record
	for _, r := range records {
		if r.Pos == base {
			first = r
		}
	}
	var s *State
	var err error
	var prev uint64
	switch {
	case first == nil:
		return nil, fmt.Errorf("session %s: no record at %d", id, base)
	case first.Kind == "open":
		s, prev = newState(log, id), base-1
	case first.Kind == "checkpoint" && isLinked(first, records):
		prev = first.Base
		if s, err = restore(log, id, first, src); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("session %s: the %s record at %d is no base", id, first.Kind, base)
	}
	for _, r := range records {
		if r.Pos <= prev {
			continue
		}
		err := s.apply(r)
		if errors.Is(err, errOrder) && r.Expected == prev && prev != 0 {
			s.Orphans, err = append(s.Orphans, r.Pos), nil
		}
		if err != nil {
			return nil, fmt.Errorf("session %s, at %d: %w", id, r.Pos, err)
		}
		prev = r.Pos
	}
	return s, nil
}

// isLinked reports whether a checkpoint follows a record of the log, as far as
// the log has those before it.
func isLinked(r *Record, records []*Record) bool {
	at := r.Expected
	for i := len(records) - 1; i >= 0 && at != 0; i-- {
		before := records[i]
		if before.Pos > at {
			continue
		}
		if before.Pos < at {
			return true // the record at that place was purged
		}
		if NextChain(before.Chain, r) == r.Chain {
			return true
		}
		if before.Expected == 0 || before.Expected >= at {
			return false
		}
		at = before.Expected
	}
	return true
}

// Store is a Source that is a node's object store.
func Store(objects fs.FS) Source { return store{objects} }

type store struct{ objects fs.FS }

func (s store) Object(key string) ([]byte, error) { return fs.ReadFile(s.objects, key) }

// Blob looks in the blob's place, and then in the trash.
func (s store) Blob(digest string) ([]byte, error) {
	digits := strings.TrimPrefix(digest, "sha256:")
	if err := parseHex(make([]byte, 32), digits); err != nil {
		return nil, err
	}
	b, err := s.Object("blobs/sha256/" + digits[:2] + "/" + digits)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	copies, globErr := fs.Glob(s.objects, "trash/sha256/"+digits[:2]+"/"+digits+"-*")
	if globErr != nil || len(copies) == 0 {
		return nil, err
	}
	return s.Object(copies[0])
}
