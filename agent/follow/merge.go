package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/session"
)

// A merging is one comparison of a file with the log.
type merging struct {
	fl   *Follower
	f    *file
	s    stat
	file []byte // the complete lines of the file
	raw  []byte // file as it may leave the host
	own  *core.File
	d    core.Dialect
	id   core.SessionID
	had  lineSet
	at   core.Cursor // of the session, as compared, and then after each write; zero: it does not exist
	made bool        // this created the session
	sole bool        // no other writer has added to the session
}

// merge compares the file with the log and brings the log in step.
func (fl *Follower) merge(ctx context.Context, f *file, h *os.File, s stat, final bool) (time.Duration, error) {
	file, rest, cut, err := f.readAll(h, s, final)
	if errors.Is(err, errChanged) {
		return 0, err
	}
	if err != nil {
		return 0, fl.readError(f, s, err)
	}
	m := &merging{fl: fl, f: f, s: s, file: file, raw: fl.mask(f, file), had: fl.state.lineSet(f.path)}
	switch err := m.parse(); {
	case errors.Is(err, errUnsettled):
		return settleDelay, nil
	case err != nil:
		return m.invalid(ctx, err)
	}
	switch err := m.run(ctx); {
	case errors.Is(err, errUnsettled):
		return settleDelay, nil
	case err != nil:
		return 0, err
	case cut:
		return immediately, nil
	case isObject(rest) && !final:
		return lastLineDelay, nil
	}
	return 0, nil
}

// run brings the log in step with the parsed file.
func (m *merging) run(ctx context.Context) error {
	if err := m.fl.claims.verify(ctx, m.f); err != nil {
		return err
	}
	if err := m.fl.fence(ctx, m.f); err != nil {
		return err
	}
	if err := m.fl.sendImages(ctx, m.f, m.d, m.raw); err != nil {
		return err
	}
	after := m.f.place.Cursor
	if after != (core.Cursor{}) {
		m.fl.requireCompare(m.f)
	}
	if m.had == nil || isDocument(m.f.path) {
		if done, err := m.importFirst(ctx, after); done || err != nil {
			return err
		}
	}
	loaded, err := m.fl.log.Load(ctx, m.id)
	m.at = loaded.Cursor
	if errors.Is(err, core.ErrNotFound) {
		return m.importAll(ctx)
	}
	if err != nil {
		return err
	}
	return m.update(ctx, loaded)
}

// importFirst imports a document, or a file that is seen for the first time. done
// is false if the file contradicts the log and must be compared.
func (m *merging) importFirst(ctx context.Context, after core.Cursor) (done bool, err error) {
	if err := m.locate(ctx); err != nil {
		return false, err
	}
	if err := m.announce(m.own.Entries); err != nil {
		return false, err
	}
	_, err = m.importLines(ctx, m.raw)
	switch {
	case err == nil:
		return true, m.finish(ctx)
	case isDocument(m.f.path) && errors.Is(err, core.ErrConflict):
		return true, m.replace(ctx, after)
	case !contradicts(err):
		return false, err
	}
	return false, nil
}

// importAll imports a file whose session does not exist.
func (m *merging) importAll(ctx context.Context) error {
	if err := m.announce(m.own.Entries); err != nil {
		return err
	}
	if _, err := m.importLines(ctx, m.raw); err != nil {
		return err
	}
	return m.finish(ctx)
}

// locate finds the cursor of the session of a file that is seen for the first
// time. If the file has been renamed, another worker may be importing its later
// content under the new name; then the error is errChanged.
func (m *merging) locate(ctx context.Context) error {
	hs, err := m.fl.cfg.Node.Heads(ctx, string(m.id))
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	m.at = hs.Cursor
	info, err := os.Stat(m.f.content())
	if err != nil {
		return errChanged
	}
	if now := statOf(info); now.dev != m.s.dev || now.ino != m.s.ino {
		return errChanged
	}
	return nil
}

// announce notes lines before they are sent: an answer may be lost, or the process
// end, and the file change again before they are known to be stored. Conflicting
// lines are not noted, so that they are reported even if this is interrupted.
func (m *merging) announce(es []core.Entry) error {
	var fresh []uint64
	for i := range es {
		if !m.had.known(es[i].Line) {
			fresh = append(fresh, hash(es[i].Line)^announced)
		}
	}
	if p := &m.f.place; p.Session == "" {
		p.Session, p.Head = m.id, m.head()
		m.fl.save(m.f, unknownStat())
	}
	return m.fl.stateError(m.f, m.s, m.fl.state.addLines(m.f.path, fresh))
}

// update compares the file with the session, and brings the session in step.
func (m *merging) update(ctx context.Context, st session.Loaded) error {
	logged, err := m.parseLogged(&st)
	if err != nil {
		return err
	}
	c := compareFile(m.d, m.had, logged, m.own)
	m.sole = c.sole
	p := planMerge(m.d, &c, m.own, len(logged), st.Heads[m.head()], m.s.unchangedFor())
	if p.wait {
		return errUnsettled
	}
	if err := m.announce(slices.Concat(c.fresh, c.amends)); err != nil {
		return err
	}
	for _, e := range c.amends {
		if err := m.amend(ctx, e, &c); err != nil {
			return err
		}
	}
	if len(c.removed) > 0 {
		if err := m.recordRemoved(ctx, &st, &c, p); err != nil {
			return err
		}
	}
	switch p.add {
	case addImport:
		err = m.add(ctx, &st, &c)
	case addAll:
		err = m.appendAll(ctx, &st, &c)
	}
	if err != nil {
		return err
	}
	if err := m.reportConflicts(ctx, c.conflicts); err != nil {
		return err
	}
	return m.finish(ctx)
}

// parseLogged parses the session's lines, and the file again if the session's
// dialect is another one.
func (m *merging) parseLogged(st *session.Loaded) ([]core.Entry, error) {
	d, err := dialect.Named(st.Dialect)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", err, core.ErrTooNew)
	}
	if d.Name() != m.d.Name() {
		own, err := d.File(m.raw)
		if err != nil {
			return nil, fmt.Errorf("session %s is a %s session, but the file is not: %w", m.id, d.Name(), err)
		}
		m.own, m.d = own, d
	}
	logged := make([]core.Entry, len(st.Lines))
	for i, line := range st.Lines {
		if logged[i], err = d.Entry(line); err != nil {
			return nil, err
		}
	}
	return logged, nil
}

func (m *merging) head() string { return cmp.Or(m.f.place.Head, core.MainHead) }

// isOver is claims.isOver for the file's head.
func (m *merging) isOver(writer string, err error) bool {
	return m.fl.claims.isOver(m.head(), writer, err)
}

func (m *merging) writer() string { return m.fl.writer(m.id, m.head()) }
