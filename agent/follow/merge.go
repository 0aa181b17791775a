package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session"
)

// firstPart is how much of a file goes into the record that makes its session.
// The rest is appended.
const firstPart = 32 << 20

// beginning is how long a file may be no session before that is told: it has
// only just been made.
const beginning = 5 * time.Second

// A merging is one comparison of a file with the log.
type merging struct {
	b    *Follower
	f    *file
	s    stat
	raw  []byte // of the file, as far as it is looked at
	own  *core.File
	d    core.Dialect
	id   core.SessionID
	had  set
	at   core.Cursor // of the session, as it was compared, and then as this left it; zero: it is not there
	made bool        // the session was made by this
	sole bool        // nobody else has added to the session
}

// merge compares the file with the log and brings the log in step.
func (b *Follower) merge(ctx context.Context, f *file, h *os.File, s stat, final bool) (time.Duration, error) {
	raw, rest, cut, err := b.readWhole(f, h, s, final)
	if errors.Is(err, errMoved) {
		return 0, err
	}
	if err != nil {
		return 0, b.readError(f, s, err)
	}
	m := &merging{b: b, f: f, s: s, raw: raw, had: b.memory.had(f.path)}
	switch err := m.read(); {
	case errors.Is(err, errUnsettled):
		return settle, nil
	case err != nil:
		return m.noSession(ctx, err)
	}
	switch err := m.run(ctx); {
	case errors.Is(err, errUnsettled):
		return settle, nil
	case err != nil:
		return 0, err
	}
	switch {
	case cut:
		return goOn, nil
	case isObject(rest) && !final:
		return quiet, nil
	}
	return 0, nil
}

// goOn has a file looked at again at once: there is more of it.
const goOn = time.Nanosecond

// errUnsettled says that the file may be in the middle of being written anew.
var errUnsettled = errors.New("it is being written")

// readWhole reads the file as far as its lines are complete. cut says that there
// is more. A file that is written anew while it is read is errMoved.
func (b *Follower) readWhole(f *file, h *os.File, s stat, final bool) (raw, rest []byte, cut bool, err error) {
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
	if int64(s.quietFor()) < racy {
		if steady, err := readsAgain(h, 0, raw); err != nil || !steady {
			return nil, nil, false, cmp.Or(err, errMoved)
		}
	}
	if isDocument(f.path) {
		return raw, nil, false, nil
	}
	raw, rest = wholeLines(raw, !cut && (final || s.quietFor() > quiet))
	return raw, rest, cut, nil
}

// read reads the file as its session's dialect does, or its root's, or as its
// bytes say.
func (m *merging) read() error {
	hint := m.f.place.Dialect
	if hint == "" && m.f.root != nil {
		hint = m.f.root.Dialect
	}
	var err error
	m.own, m.d, err = dialect.Read(hint, m.raw)
	if err != nil && hint != "" {
		m.own, m.d, err = dialect.Read("", m.raw)
	}
	if err != nil {
		return err
	}
	if m.d.Name() == unfinishedIsNone && len(m.raw) > 0 && m.raw[len(m.raw)-1] != '\n' {
		m.raw = m.raw[:bytes.LastIndexByte(m.raw, '\n')+1]
		return m.read()
	}
	m.id = core.SessionIDFor(m.d.Name(), m.own.Header.ID)
	if p := &m.f.place; p.Session != "" && p.Session != m.id { // another session has this file now
		m.b.notify(Notice{Kind: Gone, Path: m.f.path, Session: p.Session, Text: fmt.Sprintf(
			"%s holds session %s now; session %s, which it held, stays in the log", m.f.path, m.id, p.Session)})
		m.f.place, m.had = place{Path: m.f.path}, nil
	}
	if m.f.place.Dialect == "" && m.had == nil {
		return m.adopt()
	}
	return nil
}

// adopt takes over what is remembered of a file of this session that is not there
// any more: this is that file, under another name.
func (m *merging) adopt() error {
	b, f := m.b, m.f
	b.adopting.Lock()
	defer b.adopting.Unlock()
	p, ok := b.memory.left(m.id, f.path)
	if !ok {
		return nil
	}
	b.mu.Lock()
	old := b.files[p.Path]
	b.mu.Unlock()
	if old != nil {
		if !old.mu.try() { // it was opened under its old name, and is being brought in
			return errUnsettled
		}
		defer old.mu.unlock()
		p = old.place
		old.place, old.digest = place{Path: old.path}, nil
		old.publish(0)
	}
	from := p.Path
	b.memory.rename(from, f.path)
	m.had = b.memory.had(f.path)
	f.place = place{Path: f.path, Session: p.Session, Dialect: p.Dialect, Head: p.Head, Leaf: p.Leaf, Unheard: p.Unheard, Sum: xxhash.Sum64(nil)}
	b.save(f, nowhere())
	return b.memory.forget(from)
}

// noSession is what is done with a file that cannot be read as one.
func (m *merging) noSession(ctx context.Context, err error) (time.Duration, error) {
	f := m.f
	if m.s.quietFor() < beginning {
		f.publish(m.s.size)
		if f.place.Session == "" && len(m.raw) == 0 {
			return 0, nil // it says when it gets more
		}
		return time.Second, nil
	}
	if f.place.Session == "" {
		if len(m.raw) == 0 {
			f.publish(m.s.size)
			return 0, nil
		}
		return 0, m.b.refuse(f, m.s, BadFile, err)
	}
	// It was one. Its lines are in the log; where the agent would go on is not
	// told by a file that is none, so no head moves.
	if len(m.had) > 0 {
		why := fmt.Sprintf("%s on %s is no session any more: all lines left it", f.path, cmp.Or(m.b.cfg.Host, "this host"))
		if err := m.b.record(ctx, f, why); err != nil {
			return 0, err
		}
		if err := m.noted(m.b.memory.set(f.path, nil)); err != nil {
			return 0, err
		}
		m.b.notify(Notice{Kind: Vanished, Path: f.path, Session: f.place.Session, Err: err, Text: fmt.Sprintf(
			"%s is no session any more; session %s stays in the log as it was, get it back with: sessctl resume --force %s", f.path, f.place.Session, f.place.Session)})
	}
	f.place.Offset, f.place.Sum, f.place.Cursor, f.digest = 0, xxhash.Sum64(nil), core.Cursor{}, nil
	m.b.save(f, m.s)
	return 0, nil
}

func (m *merging) run(ctx context.Context) error {
	if err := m.b.claims.prove(ctx, m.f); err != nil {
		return err
	}
	if err := m.b.fence(ctx, m.f); err != nil {
		return err
	}
	if err := m.b.bringImages(ctx, m.f, m.d, m.raw); err != nil {
		return err
	}
	after := m.f.place.Cursor
	if after != (core.Cursor{}) {
		m.b.doubt(m.f)
	}
	if m.had == nil || isDocument(m.f.path) {
		if err := m.find(ctx); err != nil {
			return err
		}
		if err := m.note(m.own.Entries); err != nil {
			return err
		}
		_, err := m.bring(ctx, m.raw)
		switch {
		case err == nil:
			return m.finish(ctx)
		case isDocument(m.f.path) && errors.Is(err, core.ErrConflict):
			return m.replace(ctx, after)
		case !contradicts(err):
			return err
		}
	}
	loaded, err := m.b.log.Load(ctx, m.id)
	m.at = loaded.Cursor
	if errors.Is(err, core.ErrNotFound) {
		if err := m.note(m.own.Entries); err != nil {
			return err
		}
		if _, err := m.bring(ctx, m.raw); err != nil {
			return err
		}
		return m.finish(ctx)
	}
	if err != nil {
		return err
	}
	return m.with(ctx, loaded)
}

// find finds out where the session is, of a file that is seen for the first time.
// It may have another name by now, under which it is brought in at this moment as
// it has become: then what was read of it is of no use.
func (m *merging) find(ctx context.Context) error {
	hs, err := m.b.cfg.Node.Heads(ctx, string(m.id))
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	m.at = hs.Cursor
	info, err := os.Stat(m.f.path)
	if err != nil {
		return errMoved
	}
	if now := statOf(info); now.dev != m.s.dev || now.ino != m.s.ino {
		return errMoved
	}
	return nil
}

// note notes lines before they are in the log: an answer may be lost, or the
// process end, and the file change again before anybody knows that they are.
// What clashes is not noted, so that it is told even if this is cut short.
func (m *merging) note(es []core.Entry) error {
	var fresh []uint64
	for i := range es {
		if !m.had.maybe(es[i].Line) {
			fresh = append(fresh, hash(es[i].Line)^announced)
		}
	}
	if p := &m.f.place; p.Session == "" {
		p.Session = m.id
		m.b.save(m.f, nowhere())
	}
	return m.noted(m.b.memory.add(m.f.path, fresh))
}

func (m *merging) noted(err error) error {
	if err == nil {
		return nil
	}
	return m.b.refuse(m.f, m.s, BadFile, fmt.Errorf("its lines cannot be noted: %w", err))
}

// contradicts reports whether err says that the file says something else than
// the log.
func contradicts(err error) bool {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Detail.Line > 0
	}
	return false
}

// with brings the log in step with the file, given the session.
func (m *merging) with(ctx context.Context, st session.Loaded) error {
	d, err := dialect.Named(st.Dialect)
	if err != nil {
		return fmt.Errorf("%v: %w", err, core.ErrTooNew)
	}
	if d.Name() != m.d.Name() {
		own, err := d.File(m.raw)
		if err != nil {
			return fmt.Errorf("session %s is one of %s, and the file is none: %w", m.id, d.Name(), err)
		}
		m.own, m.d = own, d
	}
	logged := make([]core.Entry, len(st.Lines))
	for i, line := range st.Lines {
		if logged[i], err = d.Entry(line); err != nil {
			return err
		}
	}
	c := compare(d, m.had, logged, m.own)
	m.sole = c.sole
	if len(c.vanished) > 0 && m.s.quietFor() < settle {
		return errUnsettled
	}
	if err := m.note(slices.Concat(c.fresh, c.amends)); err != nil {
		return err
	}
	for _, e := range c.amends {
		if err := m.amend(ctx, e, &c); err != nil {
			return err
		}
	}
	if err := m.leave(ctx, &st, &c); err != nil {
		return err
	}
	if len(c.fresh) > 0 {
		if err := m.add(ctx, &st, &c); err != nil {
			return err
		}
	}
	if err := m.tellClashes(ctx, c.clashes); err != nil {
		return err
	}
	return m.finish(ctx)
}

// amend gives an entry the line that it has in the file. One that the log does
// not take is a clash.
func (m *merging) amend(ctx context.Context, e core.Entry, c *comparison) error {
	head := m.head()
	writer := m.b.writer(m.id, head)
	var done api.Amended
	err := m.b.ask(m.f, func() (err error) {
		done, err = m.b.cfg.Node.Amend(ctx, string(m.id), e.ID, e.Line, api.AppendOptions{Head: head, Writer: writer, After: m.at.String()})
		return err
	})
	switch {
	case err == nil && done.Cursor.Seq > m.at.Seq+1:
		return errMoved // it was there, and so is what somebody else did
	case err == nil:
		m.at = done.Cursor
		return nil
	case m.b.claims.isOver(head, writer, err), hasChanged(err):
		return errMoved
	case transient(err), stops(err):
		return err
	}
	c.clashes = append(c.clashes, clash{e, m.lineOf(e), "it changed in the file, and the log does not take it: " + err.Error()})
	return nil
}

func (m *merging) lineOf(e core.Entry) int {
	for i := range m.own.Entries {
		if bytes.Equal(m.own.Entries[i].Line, e.Line) {
			return m.own.Lines[i]
		}
	}
	return 0
}

func (m *merging) head() string { return cmp.Or(m.f.place.Head, core.MainHead) }

// leave records lines that left the file. Where the head stood at one of them it
// goes where the agent goes on.
func (m *merging) leave(ctx context.Context, st *session.Loaded, c *comparison) error {
	if len(c.vanished) == 0 {
		return nil
	}
	head := m.head()
	to := st.Heads[head]
	if id, ok := to.ID(); ok && !m.d.Linear() && hasID(c.vanished, id) {
		to = m.anchor(c)
		// Before it goes there: its answer may be lost, and the file be as it was
		// by then. Then the head is one that this file moved.
		if p := &m.f.place; p.Leaf != to {
			p.Leaf, p.Cursor = to, core.Cursor{}
			m.b.save(m.f, nowhere())
		}
	}
	writer := m.b.writer(m.id, head)
	why := fmt.Sprintf("%s left %s: %s", count(len(c.vanished), "line"), m.f.path, names(c.vanished))
	told, err := m.b.wasTold(ctx, m.f, why)
	if err != nil {
		return err
	}
	var done api.Info
	if !told {
		err = m.b.noting(m.f, m.at, func() error {
			return m.b.ask(m.f, func() (err error) {
				done, err = m.b.cfg.Node.Move(ctx, string(m.id), head, api.MoveRequest{
					Leaf: to, After: m.at.String(), Note: &api.Notice{By: m.b.cfg.By, Host: m.b.cfg.Host, Why: worded(why)},
				}, writer)
				return err
			})
		})
	}
	switch {
	case told:
	case err == nil:
		m.at = done.Log.Cursor
	case m.b.claims.isOver(head, writer, err):
		return errMoved
	case transient(err), stops(err):
		return err
	case errors.Is(err, core.ErrFenced), errors.Is(err, core.ErrInvalid):
		m.b.cfg.Logger.Warn("that lines left a file is not in the log", "path", m.f.path, "err", err)
	case errors.Is(err, core.ErrConflict):
		return errMoved
	default:
		return err
	}
	m.b.notify(Notice{Kind: Vanished, Path: m.f.path, Session: m.id, Head: head, Text: fmt.Sprintf(
		"%s left %s; session %s keeps them, see them with: sessctl entries %s", count(len(c.vanished), "line"), m.f.path, m.id, m.id)})
	return nil
}

// maxWhy bounds the reason in a record, which a node takes up to 4 KiB of.
const maxWhy = 3 << 10

// anchor is the last entry of the file that the log has: what is new goes on
// from there, or from before it.
func (m *merging) anchor(c *comparison) core.Leaf {
	if len(c.fresh) == 0 {
		return m.want()
	}
	fresh := map[string]bool{}
	for _, e := range c.fresh {
		fresh[e.ID] = true
	}
	for i := len(m.own.Entries) - 1; i >= 0; i-- {
		if e := m.own.Entries[i]; !e.Aside && e.ID != "" && !fresh[e.ID] {
			return core.LeafAt(e.ID)
		}
	}
	return core.NoLeaf
}

// want is where the agent goes on after reading the file.
func (m *merging) want() core.Leaf {
	if !core.AnyInTree(m.own.Entries) {
		return core.NoLeaf
	}
	leaf := m.d.Leaf(m.own.Entries)
	if id, ok := leaf.ID(); ok && !hasID(m.own.Entries, id) {
		return core.NoLeaf
	}
	return leaf
}

func hasID(es []core.Entry, id string) bool {
	for i := range es {
		if es[i].ID == id {
			return true
		}
	}
	return false
}

// add brings the lines in that the log lacks.
func (m *merging) add(ctx context.Context, st *session.Loaded, c *comparison) error {
	if len(c.fresh) == len(m.own.Entries) && len(st.Lines) > 0 {
		return m.addApart(ctx, st, c)
	}
	lines := m.edited(st, c)
	for range maxClashes {
		head, err := m.bring(ctx, bytes.Join(lines, []byte("\n")))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Detail.Line < 1 || e.Detail.Line > len(lines) {
			m.part(head)
			return err
		}
		n := e.Detail.Line
		entry, _ := m.d.Entry(lines[n-1])
		c.clashes = append(c.clashes, clash{core.Entry{Line: lines[n-1], ID: entry.ID}, n, err.Error()})
		lines[n-1] = nil
	}
	return fmt.Errorf("the log takes %d of its lines not: %w", maxClashes, core.ErrInvalid)
}

// maxClashes bounds the lines that one comparison leaves out one by one.
const maxClashes = 100

// edited is the file with the log's lines in place of those that clash or that
// somebody changed in the log, and the log's header. Line numbers stay.
func (m *merging) edited(st *session.Loaded, c *comparison) [][]byte {
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
	for _, cl := range c.clashes {
		delete(mine, string(cl.entry.Line))
	}
	for i, e := range m.own.Entries {
		n := m.own.Lines[i] - 1
		old, ok := logged[e.ID]
		if ok && !mine[string(e.Line)] && n < len(lines) && bytes.Equal(lines[n], e.Line) {
			lines[n] = old
		}
	}
	same := core.SameHeader(m.d, st.Header, m.own.Header.Line)
	for i := range lines {
		if !same && bytes.Equal(lines[i], m.own.Header.Line) {
			lines[i] = st.Header
			c.clashes = append(c.clashes, clash{core.Entry{Line: m.own.Header.Line}, i + 1, "the header is not the one in the log"})
			break
		}
	}
	return lines
}

// addApart appends a file that has nothing in common with its session in the
// log: its agent gave all entries new ids, or it is another's of that name. They
// go behind nothing, on the file's head where all that it had before left it,
// else on one of their own.
func (m *merging) addApart(ctx context.Context, st *session.Loaded, c *comparison) error {
	if m.d.Linear() {
		return fmt.Errorf("nothing of it is in session %s in the log, which has %d entries: %w", m.id, len(st.Lines), core.ErrConflict)
	}
	var body []byte
	for _, e := range c.fresh {
		if plain(m.d, e) {
			body = append(append(body, e.Line...), '\n')
		}
	}
	if len(body) == 0 {
		for _, e := range c.fresh {
			c.clashes = append(c.clashes, clash{e, m.lineOf(e), "it has no id, and nothing else of the file is in the log"})
		}
		return nil
	}
	head := m.head()
	if len(c.vanished) == 0 {
		head = "file-" + strings.TrimPrefix(core.DigestOf(c.fresh[0].Line).String(), "sha256:")[:8]
	}
	writer := m.b.writer(m.id, head)
	err := m.b.ask(m.f, func() error {
		_, err := m.b.cfg.Node.Append(ctx, string(m.id), body, api.AppendOptions{Head: head, Writer: writer, After: m.at.String()})
		return err
	})
	if m.b.claims.isOver(head, writer, err) || hasMoved(err) && !contradicts(err) {
		return errMoved
	}
	if err != nil {
		return err
	}
	if head != m.head() {
		m.part(head)
	}
	return errMoved // now they have something in common, and the rest is as ever
}

// replace appends a document that is another than it was: the log keeps each.
func (m *merging) replace(ctx context.Context, after core.Cursor) error {
	if after == (core.Cursor{}) { // what was remembered is gone
		hs, err := m.b.cfg.Node.Heads(ctx, string(m.id))
		if err != nil {
			return err
		}
		after = hs.Cursor
	}
	writer := m.b.writer(m.id, m.head())
	err := m.b.ask(m.f, func() error {
		_, err := m.b.cfg.Node.Append(ctx, string(m.id), core.Lines(m.own.Entries), api.AppendOptions{
			Head: m.head(), Writer: writer, After: after.String(),
		})
		return err
	})
	if m.b.claims.isOver(m.head(), writer, err) {
		return errMoved
	}
	if err != nil {
		return err
	}
	return m.finish(ctx)
}

// patientFor is how many imports of a file in a row may be refused because anything
// came to its session meanwhile.
const patientFor = 3

// bring has the node import data, and returns the head that it put lines on
// where that is not main. From a claim it branches only where the lines part from
// the head: a claim that is over is no reason to. A document is imported whatever
// the session is like: one that it was before adds nothing. Where others write to
// the session all the time, it is the file's own head alone that must not move.
func (m *merging) bring(ctx context.Context, data []byte) (head string, err error) {
	o := api.ImportOptions{Dialect: m.d.Name(), By: m.b.cfg.By, OnConflict: session.Branch, Writer: m.b.writer(m.id, m.head())}
	careful := o.Writer != "" || m.b.cfg.Claims
	if careful {
		o.OnConflict = session.Fail
	}
	if parent, ok := omp.SubagentOf(m.f.path); ok && m.d.Name() == "omp" {
		o.Parent, o.Kind = string(core.SessionIDFor("omp", parent)), string(lineage.Subagent)
	}
	if !isDocument(m.f.path) {
		o.After = m.at.String()
	}
	if m.f.late >= patientFor && m.at != (core.Cursor{}) {
		o.Head = m.head()
	}
	var done api.Imported
	send := func() (err error) {
		done, err = m.b.cfg.Node.Import(ctx, bytes.NewReader(data), int64(len(data)), o)
		return err
	}
	err = m.b.ask(m.f, send)
	if m.b.claims.isOver(m.head(), o.Writer, err) {
		return "", errMoved
	}
	if careful && err != nil && !transient(err) && !stops(err) && !hasChanged(err) {
		o.OnConflict = session.Branch
		err = m.b.ask(m.f, send)
	}
	if hasChanged(err) || o.Head != "" && hasMoved(err) && !contradicts(err) {
		m.f.late++
		return "", errMoved
	}
	if err != nil {
		return "", err
	}
	m.f.late = 0
	m.made = m.made || done.Created
	m.part(done.Head)
	return done.Head, nil
}

// part notes that the file's lines are on a head of their own.
func (m *merging) part(head string) {
	if head != "" && m.f.place.Head != head {
		m.f.place.Head = head
		m.f.parted = true
	}
}

// finish remembers that the file is in step.
func (m *merging) finish(ctx context.Context) error {
	f, p := m.f, &m.f.place
	first := p.Dialect == ""
	p.Session, p.Dialect, p.Head = m.id, m.d.Name(), m.head()
	if err := m.tellSkipped(ctx); err != nil {
		return err
	}
	if err := m.noted(m.b.memory.set(f.path, m.hashes())); err != nil {
		return err
	}
	if err := m.b.stand(ctx, f, m.want(), m.sole); err != nil {
		return err
	}
	p.Noting = core.Cursor{} // what is told from here on is of another change
	f.digest = xxhash.New()
	f.prove(true)
	p.Offset = 0
	if len(m.raw) > 0 {
		p.advance(f.digest, edges{}, m.raw)
	} else {
		p.Sum = f.digest.Sum64()
	}
	m.b.save(f, m.s)
	if first {
		m.b.notify(Notice{Kind: Began, Path: f.path, Session: m.id, Head: p.Head, Text: fmt.Sprintf("%s is session %s", f.path, m.id)})
	}
	if f.parted {
		f.parted = false
		m.b.tellParted(ctx, f)
	}
	return nil
}

// hashes are of all lines of the file that were seen to.
func (m *merging) hashes() []uint64 {
	hs := make([]uint64, 0, len(m.own.Entries)+len(m.own.Skipped))
	for i := range m.own.Entries {
		hs = append(hs, hash(m.own.Entries[i].Line))
	}
	if len(m.own.Skipped) > 0 {
		lines := bytes.Split(m.raw, []byte("\n"))
		for _, bad := range m.own.Skipped {
			if n := bad.Line - 1; n < len(lines) {
				hs = append(hs, hash(lines[n]))
			}
		}
	}
	return hs
}
