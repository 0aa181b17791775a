package core

import (
	"bytes"
	"fmt"
)

// Missing compares a file with the session that s holds and returns the file's
// entries that the session lacks, in order. The file may have grown, or be
// behind; it may not say anything else: a *LineError with ErrConflict names
// the first line of the file that contradicts the log. Lines of f are as the
// log would keep them.
func (s *State) Missing(f *File) ([]Entry, error) {
	if !bytes.Equal(f.Header.Line, s.Header.Line) {
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
			if bytes.Equal(old.Line, e.Line) {
				continue // repeated in the file
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
