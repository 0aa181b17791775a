package agentfile

import (
	"bytes"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/images"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/redact"
)

// isWritten reports whether written is what the agent's file has for line, of which
// secrets may be masked. Both are as the log stores them.
func isWritten(d core.Dialect, line, written []byte) bool {
	line, written = unkept(line), unkept(written)
	if redact.Covers(line, written) {
		return true
	}
	r, ok := d.(optional.Rewriter)
	return ok && bytes.Equal(r.AsWritten(line), written)
}

// SameHeader reports whether two lines are the header of one session:
// byte-identical, except for the directory, which differs between hosts, and
// for what the agent itself changes in its header.
func SameHeader(d core.Dialect, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if m, ok := d.(optional.Relocator); ok {
		a, b = m.WithCWD(a, ""), m.WithCWD(b, "")
	}
	if bytes.Equal(a, b) {
		return true
	}
	r, ok := d.(optional.Rewriter)
	return ok && r.SameHeader(a, b)
}

// unkept returns line with the texts that the log stores after images.KeepPrefix as
// the agent wrote them. An image that the log took out becomes a reference,
// like one that the agent itself took out.
func unkept(line []byte) []byte {
	if !bytes.Contains(line, []byte(images.KeepPrefix)) {
		return line
	}
	out, _ := images.Rewrite(line, func(data []byte) ([]byte, error) {
		if kept, ok := bytes.CutPrefix(data, []byte(images.KeepPrefix)); ok {
			return kept, nil
		}
		return nil, nil
	})
	return out
}

// Missing returns the entries of a file that the session of s lacks, in order.
// The file may have fewer or more entries than the log, may have lines or a
// header that its agent rewrote, and may name another directory. It may not
// differ otherwise: a *LineError with ErrConflict names the first line of the
// file that contradicts the log. Lines of f are as the log would store them.
func Missing(s *core.State, f *core.File) ([]core.Entry, error) {
	return missing(s.Dialect, s.Header, s.Entries, s.Entry, s.Origin.Entries > 0, f)
}

// MissingFrom is Missing for a session that is known by another file of
// it, have. Lines of both are as the agent has them.
func MissingFrom(d core.Dialect, have, f *core.File) ([]core.Entry, error) {
	byID := make(map[string]int, len(have.Entries))
	for i := range have.Entries {
		byID[have.Entries[i].ID] = i
	}
	entry := func(id string) (core.Entry, bool) {
		i, ok := byID[id]
		if !ok || id == "" {
			return core.Entry{}, false
		}
		return have.Entries[i], true
	}
	return missing(d, have.Header, have.Entries, entry, true, f)
}

func missing(d core.Dialect, h core.Header, es []core.Entry, entry func(id string) (core.Entry, bool), imported bool, f *core.File) ([]core.Entry, error) {
	if !SameHeader(d, h.Line, f.Header.Line) {
		return nil, &core.LineError{Line: 1, Err: fmt.Errorf("the header is not the one in the log: %w", core.ErrConflict)}
	}
	known := make(map[string]int, len(es)) // lines of the session that no line of the file met yet
	for i := range es {
		known[string(es[i].Line)]++
	}
	var fresh []core.Entry
	for i := range f.Entries {
		e := &f.Entries[i]
		if known[string(e.Line)] > 0 {
			known[string(e.Line)]--
			continue
		}
		if old, ok := entry(e.ID); ok {
			if bytes.Equal(old.Line, e.Line) || isWritten(d, old.Line, e.Line) {
				continue // repeated in the file, or shortened there
			}
			return nil, &core.LineError{Line: f.Lines[i], ID: e.ID, Err: fmt.Errorf("the log has other bytes under this id: %w", core.ErrConflict)}
		}
		fresh = append(fresh, *e)
	}
	// Agents add to their files. One that has nothing of what came from it is
	// another: its entries were given new ids, as when an agent migrates it. Files of
	// one session in two forms share no entry either, but then the dialect knows
	// which one is later.
	if len(fresh) > 0 && len(fresh) == len(f.Entries) && imported && len(es) > 0 && !isSuccessor(d, h, es, f) {
		return nil, &core.LineError{Line: f.Lines[0], ID: fresh[0].ID, Err: fmt.Errorf(
			"the file shares no entry with the session's %d in the log; its agent may have migrated it: %w",
			len(es), core.ErrConflict)}
	}
	return fresh, nil
}

// isSuccessor reports whether the dialect can tell whether f or the session is later.
func isSuccessor(d core.Dialect, h core.Header, es []core.Entry, f *core.File) bool {
	s, ok := d.(optional.Successor)
	return ok && s.Succession(h, es, f.Entries) != optional.Diverged
}
