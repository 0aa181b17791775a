package core

import (
	"bytes"
	"fmt"
)

// A Rewriter is a dialect whose agent writes to its file what is not, byte for
// byte, what it was given or what it read there.
type Rewriter interface {
	// AsWritten returns line as the agent writes it to its file: line itself
	// where it writes all of it.
	AsWritten(line []byte) []byte
	// SameHeader reports whether the two lines are the header of one session,
	// but for what the agent itself changes there.
	SameHeader(a, b []byte) bool
}

// isWritten reports whether written is what the agent's file has of line. Both
// are as the log keeps them.
func (s *State) isWritten(line, written []byte) bool {
	d, ok := s.Dialect.(Rewriter)
	return ok && bytes.Equal(d.AsWritten(unkept(line)), unkept(written))
}

// hasHeader reports whether line is the session's header, or what its agent
// made of it since.
func (s *State) hasHeader(line []byte) bool {
	if bytes.Equal(line, s.Header.Line) {
		return true
	}
	d, ok := s.Dialect.(Rewriter)
	return ok && d.SameHeader(s.Header.Line, line)
}

// unkept returns line with the texts that the log keeps behind keepPrefix as
// the agent wrote them. An image that the log took out is a reference, as one
// is that the agent itself took out.
func unkept(line []byte) []byte {
	if !bytes.Contains(line, []byte(keepPrefix)) {
		return line
	}
	out, _ := rewriteImages(line, func(data []byte) ([]byte, error) {
		if kept, ok := bytes.CutPrefix(data, []byte(keepPrefix)); ok {
			return kept, nil
		}
		return nil, nil
	})
	return out
}

// Missing compares a file with the session that s holds and returns the file's
// entries that the session lacks, in order. The file may have grown, or be
// behind, and have what its agent made of a line or the header that the log has
// as they were. It may not say anything else: a *LineError with ErrConflict names
// the first line of the file that contradicts the log. Lines of f are as the
// log would keep them.
func (s *State) Missing(f *File) ([]Entry, error) {
	if !s.hasHeader(f.Header.Line) {
		return nil, &LineError{Line: 1, Err: fmt.Errorf("the header is not the one in the log: %w", ErrConflict)}
	}
	known := map[string]int{} // lines of the session that no line of the file met yet
	for i := range s.Entries {
		known[string(s.Entries[i].Line)]++
	}
	var fresh []Entry
	for i := range f.Entries {
		e := &f.Entries[i]
		if known[string(e.Line)] > 0 {
			known[string(e.Line)]--
			continue
		}
		if old, ok := s.Entry(e.ID); ok {
			if bytes.Equal(old.Line, e.Line) || s.isWritten(old.Line, e.Line) {
				continue // repeated in the file, or shortened there
			}
			return nil, &LineError{Line: f.Lines[i], ID: e.ID, Err: fmt.Errorf("the log has other bytes under this id: %w", ErrConflict)}
		}
		fresh = append(fresh, *e)
	}
	// Agents add to their files. One that has nothing of what came from it is
	// another: its entries were given new ids, as when an agent migrates it.
	if len(fresh) > 0 && len(fresh) == len(f.Entries) && s.Origin.Entries > 0 {
		return nil, &LineError{Line: f.Lines[0], ID: fresh[0].ID, Err: fmt.Errorf(
			"neither this entry nor any other of the file is in the log, where the session has %d; it may have been migrated by its agent: %w",
			len(s.Entries), ErrConflict)}
	}
	return fresh, nil
}
