package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// firstPart is how many bytes of a large new file go into the record that creates
// its session. The rest is appended.
const firstPart = 32 << 20

// readAll reads the complete lines of a file. cut says that there are more. The
// error is errChanged if the agent rewrites the file meanwhile.
func (f *file) readAll(h *os.File, s stat, final bool) (raw, rest []byte, cut bool, err error) {
	size := s.size
	if f.place.Dialect == "" && size > 2*firstPart && !isDocument(f.path) {
		size, cut = firstPart, true
	}
	raw = make([]byte, size)
	n, err := h.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, false, err
	}
	raw = raw[:n]
	if s.unchangedFor() < clockTick {
		if stable, err := contains(h, 0, raw); err != nil || !stable {
			return nil, nil, false, cmp.Or(err, errChanged)
		}
	}
	if isDocument(f.path) {
		return raw, nil, false, nil
	}
	raw, rest = completeLines(raw, !cut && (final || s.unchangedFor() > lastLineDelay))
	return raw, rest, cut, nil
}

// parse parses the file in the dialect of its session, or of its root, or the one
// that its content shows.
func (m *merging) parse() error {
	name := m.f.place.Dialect
	if name == "" && m.f.root != nil {
		name = m.f.root.Dialect
	}
	var err error
	m.own, m.d, err = dialect.Read(name, m.raw)
	if err != nil && name != "" {
		m.own, m.d, err = dialect.Read("", m.raw)
	}
	if err != nil {
		return err
	}
	if m.d.Name() == dropsLastLine && len(m.raw) > 0 && m.raw[len(m.raw)-1] != '\n' {
		m.raw, m.file = m.raw[:bytes.LastIndexByte(m.raw, '\n')+1], m.file[:bytes.LastIndexByte(m.file, '\n')+1]
		return m.parse()
	}
	m.id = core.SessionIDFor(m.d.Name(), m.own.Header.ID)
	if p := &m.f.place; p.Session != "" && p.Session != m.id {
		m.fl.notify(Notice{Kind: FileRemoved, Path: m.f.path, Session: p.Session, Text: fmt.Sprintf(
			"%s contains session %s now; session %s, which it contained before, stays in the log", m.f.path, m.id, p.Session)})
		m.f.place, m.had = place{Path: m.f.path}, nil
	}
	if m.f.place.Dialect == "" && m.had == nil {
		return m.takeRenamed()
	}
	return nil
}

// takeRenamed takes over the state of a missing file with the same session: this is
// that file under another name.
func (m *merging) takeRenamed() error {
	fl, f := m.fl, m.f
	fl.renaming.Lock()
	defer fl.renaming.Unlock()
	p, ok := fl.state.missing(m.id, f.path)
	if !ok {
		return nil
	}
	fl.mu.Lock()
	old := fl.files[p.Path]
	fl.mu.Unlock()
	if old != nil {
		if !old.mu.try() { // opened under its old name, and being copied
			return errUnsettled
		}
		defer old.mu.unlock()
		p = old.place
		old.place, old.digest = place{Path: old.path}, nil
		old.publish(0)
	}
	fl.state.moveLines(p.Path, f.path)
	m.had = fl.state.lineSet(f.path)
	f.place = p.renamedTo(f.path)
	fl.save(f, unknownStat())
	return fl.state.forget(p.Path)
}

// invalid handles a file that is not a session.
func (m *merging) invalid(ctx context.Context, cause error) (time.Duration, error) {
	f := m.f
	isNew := f.place.Session == ""
	if m.s.unchangedFor() < firstSessionDelay {
		f.publish(m.s.size)
		if isNew && len(m.raw) == 0 {
			return 0, nil // its next change is reported
		}
		return time.Second, nil
	}
	if isNew {
		if len(m.raw) == 0 {
			f.publish(m.s.size)
			return 0, nil
		}
		return 0, m.fl.reject(f, m.s, BadFile, cause)
	}
	// It was a session, whose lines are in the log. It does not show where the agent
	// would continue, so no head moves.
	if len(m.had) > 0 {
		if err := m.recordAllRemoved(ctx, cause); err != nil {
			return 0, err
		}
	}
	f.place.Offset, f.place.Sum, f.place.Cursor, f.digest = 0, xxhash.Sum64(nil), core.Cursor{}, nil
	m.fl.save(f, m.s)
	return 0, nil
}

// recordAllRemoved records and reports that the file is not a session any more.
func (m *merging) recordAllRemoved(ctx context.Context, cause error) error {
	f := m.f
	why := fmt.Sprintf("%s on %s is no longer a session: all lines were removed from it", f.path, cmp.Or(m.fl.cfg.Host, "this host"))
	if err := m.fl.record(ctx, f, why); err != nil {
		return err
	}
	if err := m.fl.stateError(f, m.s, m.fl.state.setLines(f.path, nil)); err != nil {
		return err
	}
	m.fl.notify(Notice{Kind: LineRemoved, Path: f.path, Session: f.place.Session, Err: cause, Text: fmt.Sprintf(
		"%s is no longer a session; session %s in the log is unchanged; restore the file with: sessctl resume --force %s", f.path, f.place.Session, f.place.Session)})
	return nil
}
