package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// statements are those of a write, by name.
var statements = map[string]string{
	"look": `SELECT s.n, s.seq, s.deleted, s.modified, s.dialect, s.cwd, s.look, d.texts, d.digest, d.kept, d.marks, d.claims, d.labels
		FROM sessions s CROSS JOIN details d ON d.n = s.n WHERE s.id = ?`,
	"insert": `INSERT INTO sessions(id, seq, snapshot, change, deleted, closed, held, created, modified, size, entries, cost, agent_id, dialect, cwd, name, look)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"update": `UPDATE sessions SET seq = ?, snapshot = ?, change = ?, deleted = ?, closed = ?, held = ?, created = ?, modified = ?, size = ?, entries = ?, cost = ?,
		agent_id = ?, dialect = ?, cwd = ?, name = ?, look = ? WHERE n = ?`,
	"detail":        `REPLACE INTO details(n, texts, digest, kept, marks, claims, labels, row) VALUES(?, ?, ?, ?, ?, ?, ?, ?)`,
	"undetail":      `DELETE FROM details WHERE n = ?`,
	"delete":        `DELETE FROM sessions WHERE n = ?`,
	"gone":          `INSERT INTO gone(change, id) VALUES(?, ?)`,
	"ungone":        `DELETE FROM gone WHERE change <= ?`,
	"trimmed":       `REPLACE INTO meta(key, value) VALUES('trimmed', ?)`,
	"mark":          `REPLACE INTO marks(mark, n, ` + narrow + `) SELECT ?, n, ` + narrow + ` FROM sessions WHERE n = ?`,
	"unmark":        `DELETE FROM marks WHERE mark = ? AND deleted = ? AND modified = ? AND id = ?`,
	"hold":          `INSERT INTO holders(n, head, writer, since) VALUES(?, ?, ?, ?)`,
	"unhold":        `DELETE FROM holders WHERE n = ?`,
	"link":          `INSERT OR IGNORE INTO links(child, parent) VALUES(?, ?)`,
	"unlink":        `DELETE FROM links WHERE child = ?`,
	"docs":          `SELECT id, place, entry, kind, text FROM docs WHERE n = ? AND place >= ? ORDER BY place`,
	"doc":           `INSERT INTO docs(id, n, place, entry, kind, text) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
	"undoc":         `DELETE FROM docs WHERE id = ?`,
	"free":          `SELECT max(id) + 1 FROM docs WHERE id >= ?1 AND id < ?1 + 1048576`,
	"words":         `INSERT INTO words(rowid, text, scope) VALUES(?, ?, ?)`,
	"unwords":       `INSERT INTO words(words, rowid, text, scope) VALUES('delete', ?, ?, ?)`,
	"looks":         `INSERT INTO looks(rowid, name, first) VALUES(?, ?, ?)`,
	"unlooks":       `INSERT INTO looks(looks, rowid, name, first) VALUES('delete', ?, ?, ?)`,
	"prompts":       `SELECT id, text FROM prompts WHERE session = ? ORDER BY id`,
	"lastPrompt":    `SELECT created, text FROM prompts WHERE session = ? ORDER BY place DESC, part DESC LIMIT 1`,
	"prompt":        `INSERT INTO prompts(session, place, part, entry, dialect, host, cwd, created, text, cut) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"unprompt":      `DELETE FROM prompts WHERE session = ?`,
	"promptWords":   `INSERT INTO prompt_words(rowid, text) VALUES(?, ?)`,
	"unpromptWords": `INSERT INTO prompt_words(prompt_words, rowid, text) VALUES('delete', ?, ?)`,
	"floor":         `INSERT INTO floors(shard, floor) VALUES(?, ?) ON CONFLICT DO UPDATE SET floor = excluded.floor`,
}

// maxGone is for how many changes it is remembered that a session is gone, for
// those who follow.
const maxGone = 10_000

// A writer is one write under way.
type writer struct {
	ctx    context.Context
	tx     *sql.Tx
	stmts  map[string]*sql.Stmt
	change int64
	live   int
	scrub  bool // something was deleted that may be left nowhere
	gone   bool
	docs   []docOp
	looks  []lookOp
}

// A docOp adds a text, or deletes one. The engine takes them in the order of
// their ids: each step back costs it a segment.
type docOp struct {
	doc
	n       int64
	scope   string
	removed bool
}

// A lookOp tells the engine of another look.
type lookOp struct {
	n        int64
	old, now string
}

// write writes b, whole or not at all.
func (f *file) write(ctx context.Context, b batch) error {
	tx, err := f.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	w := &writer{ctx: ctx, tx: tx, stmts: make(map[string]*sql.Stmt, len(f.stmts)), change: f.change, live: f.live}
	for name, s := range f.stmts {
		w.stmts[name] = tx.StmtContext(ctx, s)
	}
	for _, id := range b.ids {
		if err := w.session(id, b.changes[id]); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	if err := w.finish(b.floors); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	f.change, f.live = w.change, w.live
	if !w.scrub {
		return nil
	}
	// The write-ahead log still has the pages as they were. What was written is
	// written, whether it can be cut short now or at the next time.
	_, _ = f.w.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return nil
}

func (w *writer) exec(name string, args ...any) error {
	_, err := w.stmts[name].ExecContext(w.ctx, args...)
	return err
}

// A held is what is in the file of a session.
type held struct {
	n             int64
	seq           uint64
	place         int // see placeOf
	modified      int64
	dialect, cwd  string
	look          string
	texts         int // entries whose text was taken in
	digest        int64
	kept          int64 // bytes of it
	marks, claims string
	labels        string
}

// placeOf is where a session is: 0 among those that live, 1 in the trash, 2 erased,
// where no listing finds it.
func placeOf(r *materializer.Row) int {
	switch {
	case r.Erased:
		return 2
	case r.Deleted:
		return 1
	}
	return 0
}

// scope is what the session's texts are narrowed by.
func (h *held) scope(id core.SessionID) string {
	return scopeOf(string(id), h.dialect, h.cwd, strings.Split(h.marks, between))
}

func (w *writer) look(id core.SessionID) (*held, error) {
	h := &held{}
	err := w.stmts["look"].QueryRowContext(w.ctx, string(id)).Scan(&h.n, &h.seq, &h.place, &h.modified, &h.dialect, &h.cwd, &h.look,
		&h.texts, &h.digest, &h.kept, &h.marks, &h.claims, &h.labels)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return h, err
}

func (w *writer) session(id core.SessionID, c *change) error {
	old, err := w.look(id)
	if err != nil {
		return err
	}
	if c.forget && old != nil {
		if err := w.forget(id, old, c.view == nil); err != nil {
			return err
		}
		old = nil
	}
	if c.view == nil || old != nil && old.seq >= c.view.Row.Seq {
		return nil
	}
	return w.put(c.view, old)
}

// forget deletes what is there of a session.
func (w *writer) forget(id core.SessionID, old *held, tell bool) error {
	if err := errors.Join(w.remove(id, old, namePlace, all), w.removePrompts(id)); err != nil {
		return err
	}
	w.looks = append(w.looks, lookOp{n: old.n, old: old.look})
	err := errors.Join(w.unmark(id, old), w.exec("unhold", old.n), w.exec("unlink", string(id)), w.exec("undetail", old.n), w.exec("delete", old.n))
	if err != nil {
		return err
	}
	w.scrub = true
	if old.place == 0 {
		w.live--
	}
	if !tell {
		return nil
	}
	w.change++
	w.gone = true
	return w.exec("gone", w.change, string(id))
}

// put writes the row and the text of a session.
func (w *writer) put(v *materializer.View, old *held) error {
	c, err := columnsOf(v)
	if err != nil {
		return err
	}
	fresh := old == nil
	if fresh {
		old = &held{}
	}
	now := *old
	now.dialect, now.cwd, now.look = c.dialect, c.cwd, c.look
	now.marks = strings.Join(marksOf(v, nil), between) // its labels are not known yet, and not in the scope
	added, labels, err := w.readText(v, old, &now)
	if err != nil {
		return err
	}
	marks := marksOf(v, labels)
	now.marks = strings.Join(marks, between)
	w.change++
	r := &v.Row
	args := []any{
		int64(r.Seq), int64(r.Snapshot), w.change, placeOf(r), r.Closed, len(v.Claims) > 0, c.created, c.modified, r.Size, r.Entries, c.cost,
		c.agentID, c.dialect, c.cwd, c.name, c.look,
	}
	if fresh {
		res, err := w.stmts["insert"].ExecContext(w.ctx, append([]any{c.id}, args...)...)
		if err != nil {
			return err
		}
		if now.n, err = res.LastInsertId(); err != nil {
			return err
		}
	} else if err := w.exec("update", append(args, now.n)...); err != nil {
		return err
	}
	if err := w.exec("detail", now.n, now.texts, now.digest, now.kept, now.marks, c.claims, now.labels, c.row); err != nil {
		return err
	}
	w.count(fresh, old.place > 0, r.Deleted)
	if now.look != old.look {
		w.looks = append(w.looks, lookOp{now.n, old.look, now.look})
	}
	scope := now.scope(v.Row.ID)
	for _, d := range added {
		w.docs = append(w.docs, docOp{doc: d, n: now.n, scope: scope})
	}
	return errors.Join(w.unmark(r.ID, old), w.mark(now.n, marks), w.rehold(now.n, old.claims, c.claims, v.Claims), w.relink(fresh, r))
}

func (w *writer) count(fresh, was, is bool) {
	if !fresh && !was {
		w.live--
	}
	if !is {
		w.live++
	}
}

// readText returns the texts that v has and the file does not, and the session's
// labels. Where entries that were read are others now, or are gone, all are read
// anew. now is brought up to date.
func (w *writer) readText(v *materializer.View, old, now *held) (added []doc, labels map[string]string, err error) {
	id := v.Row.ID
	w.scrub = w.scrub || v.Row.Erased
	read, digest := digestsOf(v.Entries, old.texts)
	moved := old.n != 0 && old.scope(id) != now.scope(id)
	whole := old.n == 0 || moved || read != old.digest && old.texts > 0
	if whole {
		now.texts, now.kept, now.labels = 0, 0, ""
	}
	if now.labels != "" {
		if err := json.Unmarshal([]byte(now.labels), &labels); err != nil {
			return nil, nil, err
		}
	}
	texts, prompts, labels, size := textsOf(v, now.texts, labels)
	now.texts, now.digest = len(v.Entries), digest
	if err := w.setPrompts(v, old, prompts, whole); err != nil {
		return nil, nil, err
	}
	if texts, err = w.trim(id, old, now, texts, size); err != nil {
		return nil, nil, err
	}
	if name, ok := nameDoc(&v.Row); ok && (whole || nameOf(old.look) != nameOf(now.look)) {
		texts = append(texts, name)
	}
	switch {
	case whole:
		texts, err = w.replace(id, old, texts, moved)
	case nameOf(old.look) != nameOf(now.look):
		err = w.remove(id, old, namePlace, func(d *doc) (bool, bool) { return d.place == namePlace, false })
	}
	b, _ := json.Marshal(labels) // strings always can be
	now.labels = string(b)
	return texts, labels, err
}

// textsOf returns the texts of v's entries from one on, their size in bytes, the
// prompts among them, and the labels after them.
func textsOf(v *materializer.View, from int, labels map[string]string) (texts []doc, prompts []prompt, _ map[string]string, size int64) {
	last, _ := millis(v.Row.Created) // for what does not say when
	for i := from; i < len(v.Entries); i++ {
		items := v.Dialect.Read(v.Entries[i])
		prompts = append(prompts, promptsOf(v.Entries[i], items, i)...)
		d, at := docOf(v.Entries[i], items, i, func(target, text string) { labels = relabel(labels, target, text) })
		if ms, ok := millis(at); ok {
			last = ms
		}
		if d.text == "" {
			continue
		}
		d.id = idOf(v.Row.ID, i, last)
		texts = append(texts, d)
		size += int64(len(d.text))
	}
	return texts, prompts, labels, size
}

func nameOf(look string) string {
	name, _, _ := strings.Cut(look, between)
	return name
}

// nameDoc is the text of a session's name, if it has one.
func nameDoc(r *materializer.Row) (doc, bool) {
	ms, _ := millis(cmp.Or(r.Created, r.Modified))
	d := doc{id: idOf(r.ID, namePlace, ms), place: namePlace, kind: "name", text: tidy(r.Name, maxEntry)}
	return d, d.text != ""
}

// replace deletes the texts of a session that are none of texts, and returns
// those that are to be added. Few of many differ, as a rule, and what is deleted
// costs most.
func (w *writer) replace(id core.SessionID, old *held, texts []doc, all bool) ([]doc, error) {
	is := make(map[int]int, len(texts))
	for i := range texts {
		is[texts[i].place] = i
	}
	there := map[int]bool{}
	err := w.remove(id, old, namePlace, func(d *doc) (bool, bool) {
		i, ok := is[d.place]
		if ok && !all && texts[i].text == d.text && texts[i].entry == d.entry && texts[i].kind == d.kind {
			there[d.place] = true
			return false, true
		}
		w.scrub = true
		return true, true
	})
	return slices.DeleteFunc(texts, func(d doc) bool { return there[d.place] }), err
}

// trim drops a session's oldest texts until the rest fits: those that are in the
// file first, then of texts, which are to be added and have size bytes.
func (w *writer) trim(id core.SessionID, old, now *held, texts []doc, size int64) ([]doc, error) {
	inFile := now.kept
	now.kept += size
	if inFile > 0 && now.kept > maxSession {
		err := w.remove(id, old, 0, func(d *doc) (gone, on bool) {
			if now.kept <= maxSession {
				return false, false
			}
			now.kept -= int64(len(d.text))
			return true, true
		})
		if err != nil {
			return nil, err
		}
	}
	for len(texts) > 0 && now.kept > maxSession {
		now.kept -= int64(len(texts[0].text))
		texts = texts[1:]
	}
	return texts, nil
}

// all is for remove.
func all(*doc) (gone, on bool) { return true, true }

// remove goes through the texts of a session that are in the file, from a place
// on, as long as which says so, and deletes those that it says are gone.
func (w *writer) remove(id core.SessionID, old *held, from int, which func(*doc) (gone, on bool)) error {
	if old.n == 0 {
		return nil
	}
	rows, err := w.stmts["docs"].QueryContext(w.ctx, old.n, from)
	if err != nil {
		return err
	}
	defer rows.Close()
	scope := old.scope(id)
	for on := true; on && rows.Next(); {
		op := docOp{n: old.n, scope: scope, removed: true}
		if err := rows.Scan(&op.id, &op.place, &op.entry, &op.kind, &op.text); err != nil {
			return err
		}
		var gone bool
		if gone, on = which(&op.doc); gone {
			w.docs = append(w.docs, op)
		}
	}
	return rows.Err()
}

// unmark deletes a session's marks as they were.
func (w *writer) unmark(id core.SessionID, old *held) error {
	if old.marks == "" {
		return nil
	}
	for _, m := range strings.Split(old.marks, between) {
		if err := w.exec("unmark", m, old.place, old.modified, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// mark writes a session's marks, each with what its row in sessions has.
func (w *writer) mark(n int64, marks []string) error {
	for _, m := range marks {
		if err := w.exec("mark", m, n); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) rehold(n int64, was, is string, claims map[string]core.Claim) error {
	if was == is {
		return nil
	}
	if err := w.exec("unhold", n); err != nil {
		return err
	}
	for _, h := range holdersOf(claims) {
		if err := w.exec("hold", n, h.head, h.writer, h.since); err != nil {
			return err
		}
	}
	return nil
}

// relink says where a session is from, which never changes.
func (w *writer) relink(fresh bool, r *materializer.Row) error {
	if !fresh {
		return nil
	}
	for _, p := range r.Lineage.Parents {
		if err := w.exec("link", string(r.ID), string(p.Session)); err != nil {
			return err
		}
	}
	return nil
}

// finish tells the engine of texts and looks in its order, and writes the floors.
func (w *writer) finish(floors map[int]materializer.Floor) error {
	slices.SortStableFunc(w.docs, func(a, b docOp) int { return cmp.Compare(a.id, b.id) })
	for i := range w.docs {
		if err := w.doc(&w.docs[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(w.looks, func(a, b lookOp) int { return cmp.Compare(a.n, b.n) })
	for _, l := range w.looks {
		if name, first, ok := strings.Cut(l.old, between); ok {
			if err := w.exec("unlooks", l.n, name, first); err != nil {
				return err
			}
		}
		if name, first, ok := strings.Cut(l.now, between); ok {
			if err := w.exec("looks", l.n, name, first); err != nil {
				return err
			}
		}
	}
	if w.gone {
		if err := w.forgetGone(); err != nil {
			return err
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(floors)) {
		b, err := json.Marshal(floors[shard])
		if err != nil {
			return err
		}
		if err := w.exec("floor", shard, string(b)); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone keeps the list of sessions that are gone short, and notes up to where
// it does not know them.
func (w *writer) forgetGone() error {
	res, err := w.stmts["ungone"].ExecContext(w.ctx, w.change-maxGone)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return err
	}
	return w.exec("trimmed", strconv.FormatInt(w.change-maxGone, 10))
}

func (w *writer) doc(d *docOp) error {
	if d.removed {
		if err := w.exec("unwords", d.id, spaced(d.text), d.scope); err != nil {
			return err
		}
		return w.exec("undoc", d.id)
	}
	for {
		res, err := w.stmts["doc"].ExecContext(w.ctx, d.id, d.n, d.place, d.entry, d.kind, d.text)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n > 0 || err != nil {
			return errors.Join(err, w.exec("words", d.id, spaced(d.text), d.scope))
		}
		// Another text has that id: the next one behind all of its second.
		if err := w.stmts["free"].QueryRowContext(w.ctx, d.id>>idBits<<idBits).Scan(&d.id); err != nil {
			return err
		}
	}
}
