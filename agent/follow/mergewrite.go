package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/session"
)

// maxConflicts bounds how many lines one comparison leaves out one by one.
const maxConflicts = 100

// amend replaces an entry by its line in the file. If the log rejects that, it is a
// conflict.
func (m *merging) amend(ctx context.Context, e core.Entry, c *comparison) error {
	writer := m.writer()
	var done api.Amended
	err := m.fl.request(m.f, func() (err error) {
		done, err = m.fl.cfg.Node.Amend(ctx, string(m.id), e.ID, e.Line, client.AppendOptions{Head: m.head(), Writer: writer, After: m.at.String()})
		return err
	})
	switch {
	case err == nil && done.Cursor.Seq > m.at.Seq+1:
		return errChanged // it was stored before, and another writer's records, too
	case err == nil:
		m.at = done.Cursor
		return nil
	case m.isOver(writer, err), isStale(err):
		return errChanged
	case isTransient(err), isStopped(err):
		return err
	}
	c.conflicts = append(c.conflicts, conflict{e, m.lineOf(e), "it changed in the file, and the log rejects the change: " + err.Error()})
	return nil
}

// lineOf returns the number of an entry's line in the file, 0 if it is not there.
func (m *merging) lineOf(e core.Entry) int {
	for i := range m.own.Entries {
		if bytes.Equal(m.own.Entries[i].Line, e.Line) {
			return m.own.Lines[i]
		}
	}
	return 0
}

// recordRemoved records and reports the lines that were removed from the file, and
// moves the head if p says so.
func (m *merging) recordRemoved(ctx context.Context, st *session.Loaded, c *comparison, p plan) error {
	to := st.Heads[m.head()]
	if p.moveHead {
		to = p.leaf
		// Before the move: its answer may be lost, and the file change again. Then the
		// head is known to be where this file left it.
		if at := &m.f.place; at.Leaf != to {
			at.Leaf, at.Cursor = to, core.Cursor{}
			m.fl.save(m.f, unknownStat())
		}
	}
	why := fmt.Sprintf("%s left %s: %s", count(len(c.removed), "line"), m.f.path, entryNames(c.removed))
	recorded, err := m.fl.wasRecorded(ctx, m.f, why)
	if err != nil {
		return err
	}
	if !recorded {
		if err := m.moveWithNote(ctx, to, why); err != nil {
			return err
		}
	}
	m.fl.notify(Notice{Kind: LineRemoved, Path: m.f.path, Session: m.id, Head: m.head(), Text: fmt.Sprintf(
		"%s left %s; session %s keeps them, list them with: sessctl entries %s", count(len(c.removed), "line"), m.f.path, m.id, m.id)})
	return nil
}

// moveWithNote moves the head. If the node rejects the note, that is only logged.
func (m *merging) moveWithNote(ctx context.Context, to core.Leaf, why string) error {
	writer := m.writer()
	var done api.Info
	err := m.fl.noting(m.f, m.at, func() error {
		return m.fl.request(m.f, func() (err error) {
			done, err = m.fl.cfg.Node.Move(ctx, string(m.id), m.head(), api.MoveRequest{
				Leaf: to, After: m.at.String(), Note: &api.Notice{By: m.fl.cfg.By, Host: m.fl.cfg.Host, Why: noteText(why)},
			}, writer)
			return err
		})
	})
	switch {
	case err == nil:
		m.at = done.Log.Cursor
		return nil
	case m.isOver(writer, err):
		return errChanged
	case isTransient(err), isStopped(err):
		return err
	case errors.Is(err, core.ErrFenced), errors.Is(err, core.ErrInvalid):
		m.fl.cfg.Logger.Warn("the removal of lines is not in the log", "path", m.f.path, "err", err)
		return nil
	case errors.Is(err, core.ErrConflict):
		return errChanged
	}
	return err
}

// add imports the lines that the log lacks. Lines that the log rejects are left
// out, and become conflicts.
func (m *merging) add(ctx context.Context, st *session.Loaded, c *comparison) error {
	lines := m.mergedLines(st, c)
	for range maxConflicts {
		head, err := m.importLines(ctx, bytes.Join(lines, []byte("\n")))
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Detail.Line < 1 || e.Detail.Line > len(lines) {
			m.setHead(head)
			return err
		}
		n := e.Detail.Line
		entry, _ := m.d.Entry(lines[n-1])
		c.conflicts = append(c.conflicts, conflict{core.Entry{Line: lines[n-1], ID: entry.ID}, n, err.Error()})
		lines[n-1] = nil
	}
	return fmt.Errorf("the log rejects %d of its lines: %w", maxConflicts, core.ErrInvalid)
}

// mergedLines returns the lines of the file, with those of the log in place of
// conflicts and of lines that changed in the log, and with the log's header. Line
// numbers do not change.
func (m *merging) mergedLines(st *session.Loaded, c *comparison) [][]byte {
	lines := bytes.Split(m.raw, []byte("\n"))
	logged := map[string][]byte{}
	for _, line := range st.Lines {
		if e, err := m.d.Entry(line); err == nil && e.ID != "" {
			logged[e.ID] = line
		}
	}
	mine := map[string]bool{}
	for _, es := range [][]core.Entry{c.fresh, c.amends} {
		for _, e := range es {
			mine[string(e.Line)] = true
		}
	}
	for _, cf := range c.conflicts {
		delete(mine, string(cf.entry.Line))
	}
	for i, e := range m.own.Entries {
		n := m.own.Lines[i] - 1
		old, ok := logged[e.ID]
		if ok && !mine[string(e.Line)] && n < len(lines) && bytes.Equal(lines[n], e.Line) {
			lines[n] = old
		}
	}
	if agentfile.SameHeader(m.d, st.Header, m.own.Header.Line) {
		return lines
	}
	for i := range lines {
		if bytes.Equal(lines[i], m.own.Header.Line) {
			lines[i] = st.Header
			c.conflicts = append(c.conflicts, conflict{core.Entry{Line: m.own.Header.Line}, i + 1, "the header is not the one in the log"})
			break
		}
	}
	return lines
}

// appendAll appends a file that has nothing in common with its session in the
// log, because the agent gave all entries new IDs, or because a different file has
// that name. The lines go to the file's head, at its start, if everything that the
// file had before was removed from it; else to a separate head.
func (m *merging) appendAll(ctx context.Context, st *session.Loaded, c *comparison) error {
	if m.d.Linear() {
		return fmt.Errorf("session %s in the log has %d entries, and none of them is in the file: %w", m.id, len(st.Lines), core.ErrConflict)
	}
	var body []byte
	for _, e := range c.fresh {
		if isComplete(m.d, e) {
			body = append(append(body, e.Line...), '\n')
		}
	}
	if len(body) == 0 {
		for _, e := range c.fresh {
			c.conflicts = append(c.conflicts, conflict{e, m.lineOf(e), "it has no id, and nothing else of the file is in the log"})
		}
		return nil
	}
	head := m.head()
	if len(c.removed) == 0 {
		head = "file-" + strings.TrimPrefix(core.DigestOf(c.fresh[0].Line).String(), "sha256:")[:8]
	}
	writer := m.fl.writer(m.id, head)
	err := m.fl.request(m.f, func() error {
		_, err := m.fl.cfg.Node.Append(ctx, string(m.id), body, client.AppendOptions{Head: head, Writer: writer, After: m.at.String()})
		return err
	})
	if m.fl.claims.isOver(head, writer, err) || isMoved(err) && !contradicts(err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if head != m.head() {
		m.setHead(head)
	}
	return errChanged // compare again: now they have something in common
}

// replace appends a document that has changed. The log keeps all versions.
func (m *merging) replace(ctx context.Context, after core.Cursor) error {
	if after == (core.Cursor{}) { // the state was lost
		hs, err := m.fl.cfg.Node.Heads(ctx, string(m.id))
		if err != nil {
			return err
		}
		after = hs.Cursor
	}
	writer := m.writer()
	err := m.fl.request(m.f, func() error {
		_, err := m.fl.cfg.Node.Append(ctx, string(m.id), core.Lines(m.own.Entries), client.AppendOptions{
			Head: m.head(), Writer: writer, After: after.String(),
		})
		return err
	})
	if m.isOver(writer, err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	return m.finish(ctx)
}

// setHead records that the file's lines are on a separate head.
func (m *merging) setHead(head string) {
	if head != "" && m.f.place.Head != head {
		m.f.place.Head = head
		m.f.diverged = true
	}
}
