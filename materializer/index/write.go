package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// maxRemoved is for how many changes a removed session is remembered, for clients
// that follow changes.
const maxRemoved = 10_000

// A writer is one write transaction.
type writer struct {
	ctx      context.Context // of statements, never done
	going    context.Context // ends the write between two statements
	tx       *sql.Tx
	stmts    map[string]*sql.Stmt
	change   int64
	live     int
	scrub    bool // something was deleted that must not stay in the write-ahead log
	merge    bool // or in the full-text table, from where it was only trimmed
	removed  bool
	docs     []docOp
	trimmed  []docOp // deleted, without overwriting them
	headings []headingOp
	had      func(core.SessionID) progress // before the write
	now      map[core.SessionID]progress   // after it
}

// A docOp adds or deletes a text. FTS5 takes them in the order of their ids: each
// step back costs it a segment.
type docOp struct {
	doc
	n       int64
	scope   string
	removed bool
}

// A headingOp replaces a heading in the full-text table.
type headingOp struct {
	n        int64
	old, now string
}

// write writes b in one transaction.
func (f *file) write(ctx context.Context, b batch) error {
	tx, err := f.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	going := ctx
	ctx = context.WithoutCancel(ctx) // the driver starts a goroutine for each statement that can be canceled
	w := &writer{ctx: ctx, going: going, tx: tx, stmts: make(map[string]*sql.Stmt, len(f.stmts)), change: f.change, live: f.live, had: b.had, now: b.now}
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
	merging := f.merging
	if w.merge {
		merging = merging.requested()
		if err := w.exec("merging", merging); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	f.change, f.live, f.merging = w.change, w.live, merging
	if !w.scrub {
		return nil
	}
	// The write-ahead log still has the old pages. If it cannot be truncated now,
	// the next checkpoint does it.
	_, _ = f.w.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return nil
}

// exec executes a statement. Each text and each prompt that is written needs one.
func (w *writer) exec(name string, args ...any) error {
	if err := w.going.Err(); err != nil {
		return err
	}
	_, err := w.stmts[name].ExecContext(w.ctx, args...)
	return err
}

// A stored is what the file has of a session.
type stored struct {
	n             int64
	seq           uint64
	place         int // see placeOf
	modified      int64
	dialect, cwd  string
	heading       string
	texts         int // entries whose text was read
	digest        int64
	kept          int64 // bytes of text
	marks, claims string
	labels        string
}

// placeOf returns 0 for a session that is neither deleted nor erased, 1 for one in
// the trash, and 2 for an erased one, which no listing shows.
func placeOf(r *catalog.Row) int {
	switch {
	case r.Erased:
		return 2
	case r.Deleted:
		return 1
	}
	return 0
}

// scope returns the words by which the session's texts are narrowed.
func (h *stored) scope(id core.SessionID) string {
	return scopeOf(string(id), h.dialect, h.cwd, strings.Split(h.marks, fieldSep))
}

func (w *writer) load(id core.SessionID) (*stored, error) {
	h := &stored{}
	err := w.stmts["load"].QueryRowContext(w.ctx, string(id)).Scan(&h.n, &h.seq, &h.place, &h.modified, &h.dialect, &h.cwd, &h.heading,
		&h.texts, &h.digest, &h.kept, &h.marks, &h.claims, &h.labels)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return h, err
}

func (w *writer) session(id core.SessionID, c *change) error {
	old, err := w.load(id)
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

// forget deletes everything of a session. announce adds it to the changes.
func (w *writer) forget(id core.SessionID, old *stored, announce bool) error {
	if err := errors.Join(w.remove(id, old, namePlace, all), w.removePrompts(id)); err != nil {
		return err
	}
	w.headings = append(w.headings, headingOp{n: old.n, old: old.heading})
	err := errors.Join(w.unmark(id, old), w.exec("unhold", old.n), w.exec("unlink", string(id)), w.exec("undetail", old.n), w.exec("delete", old.n))
	if err != nil {
		return err
	}
	w.erases(old)
	if old.place == 0 {
		w.live--
	}
	if !announce {
		return nil
	}
	w.change++
	w.removed = true
	return w.exec("removed", w.change, string(id))
}

// put writes the row, text and prompts of a session.
func (w *writer) put(v *materializer.View, old *stored) error {
	c, err := columnsOf(v)
	if err != nil {
		return err
	}
	fresh := old == nil
	if fresh {
		old = &stored{}
	}
	now := *old
	now.dialect, now.cwd, now.heading = c.dialect, c.cwd, c.heading
	now.marks = strings.Join(marksOf(v, nil), fieldSep) // without labels, which are not known yet and not in the scope
	added, labels, err := w.readText(v, old, &now)
	if err != nil {
		return err
	}
	marks := marksOf(v, labels)
	now.marks = strings.Join(marks, fieldSep)
	w.change++
	r := &v.Row
	args := []any{
		int64(r.Seq), int64(r.Snapshot), w.change, placeOf(r), r.Closed, len(v.Claims) > 0, c.created, c.modified, c.changed, r.Size, r.Entries, c.cost,
		c.agentID, c.dialect, c.cwd, c.name, c.heading,
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
	if now.heading != old.heading {
		w.headings = append(w.headings, headingOp{now.n, old.heading, now.heading})
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

// unmark deletes a session's stored marks.
func (w *writer) unmark(id core.SessionID, old *stored) error {
	if old.marks == "" {
		return nil
	}
	for _, m := range strings.Split(old.marks, fieldSep) {
		if err := w.exec("unmark", m, old.place, old.modified, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// mark writes a session's marks, each with the narrow columns of its row.
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

// relink writes a session's parents, which never change.
func (w *writer) relink(fresh bool, r *catalog.Row) error {
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

// finish applies the text changes in the order that FTS5 needs, and writes the
// floors.
func (w *writer) finish(floors map[int]materializer.Floor) error {
	if err := w.trimWords(); err != nil {
		return err
	}
	if err := w.inOrder(w.docs); err != nil {
		return err
	}
	slices.SortStableFunc(w.headings, func(a, b headingOp) int { return cmp.Compare(a.n, b.n) })
	for _, l := range w.headings {
		if name, first, ok := strings.Cut(l.old, fieldSep); ok {
			if err := w.exec("unheadings", l.n, name, first); err != nil {
				return err
			}
		}
		if name, first, ok := strings.Cut(l.now, fieldSep); ok {
			if err := w.exec("headings", l.n, name, first); err != nil {
				return err
			}
		}
	}
	if w.removed {
		if err := w.trimRemoved(); err != nil {
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

// inOrder applies ops in the order of their ids.
func (w *writer) inOrder(ops []docOp) error {
	slices.SortStableFunc(ops, func(a, b docOp) int { return cmp.Compare(a.id, b.id) })
	for i := range ops {
		if err := w.doc(&ops[i]); err != nil {
			return err
		}
		runtime.Gosched() // requests are more urgent
	}
	return nil
}

// trimWords deletes the trimmed texts from the full-text table as FTS5 does by default:
// it marks them as deleted, which costs about as much as to add them, and removes them
// when it merges. To overwrite a text at once costs ten times as much.
func (w *writer) trimWords() error {
	if len(w.trimmed) == 0 {
		return nil
	}
	if err := w.exec("secure", 0); err != nil {
		return err
	}
	if err := w.inOrder(w.trimmed); err != nil {
		return err
	}
	return errors.Join(w.exec("flushWords"), w.exec("secure", 1))
}

// trimRemoved shortens the list of removed sessions, and stores from where on it is
// complete.
func (w *writer) trimRemoved() error {
	res, err := w.stmts["unremoved"].ExecContext(w.ctx, w.change-maxRemoved)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return err
	}
	return w.exec("trimmed", strconv.FormatInt(w.change-maxRemoved, 10))
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
		// The id is taken: use the next one after all ids of its second.
		if err := w.stmts["free"].QueryRowContext(w.ctx, d.id>>idBits<<idBits).Scan(&d.id); err != nil {
			return err
		}
	}
}
