package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// queryTime limits how long a query may take.
const queryTime = 30 * time.Second

// read runs a query on one consistent view of the file. An error is
// core.ErrUnavailable, unless f returns core.ErrInvalid or core.ErrLost.
func (x *Index) read(ctx context.Context, what string, f func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	x.file.RLock()
	defer x.file.RUnlock()
	tx, err := x.db.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		defer tx.Rollback() //nolint:errcheck // it only read
		err = f(ctx, tx)
	}
	switch {
	case err == nil || errors.Is(err, core.ErrInvalid) || errors.Is(err, core.ErrLost):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s timed out; narrow the filter: %w: %w", what, ctx.Err(), core.ErrUnavailable)
	}
	x.report(err)
	return fmt.Errorf("%s: the directory cannot be read: %v: %w", what, err, core.ErrUnavailable)
}

// List returns a page of rows. It returns core.ErrInvalid if f is not valid.
func (x *Index) List(ctx context.Context, f catalog.Filter) (catalog.Page, error) {
	o := orderOf(&f)
	w, err := conditionsOf(&f, o.sort)
	if err != nil {
		return catalog.Page{}, err
	}
	page := catalog.Page{}
	err = x.read(ctx, "the listing", func(ctx context.Context, tx *sql.Tx) error {
		if page.Mark, err = x.mark(ctx, tx); err != nil {
			return err
		}
		l := &listing{ctx: ctx, tx: tx, where: w, order: o, limit: f.Limit, rows: []catalog.Row{}}
		if err := l.run(f.After); err != nil {
			return err
		}
		page.Rows, page.Next = l.rows, l.next
		return nil
	})
	return page, err
}

// A listing is a page being read.
type listing struct {
	ctx   context.Context
	tx    *sql.Tx
	where *where
	order order
	limit int // 0 for no limit
	from  string
	first []any // arguments of from
	rows  []catalog.Row
	last  pageEnd
	next  string
}

func (l *listing) run(after string) error {
	if err := l.choose(); err != nil {
		return err
	}
	if after == "" {
		return l.read("", nil)
	}
	p, err := l.start(after)
	if err != nil {
		return err
	}
	id, column := ">", ">"
	if l.order.reversed {
		id = "<"
	}
	if l.order.down {
		column = "<"
	}
	// First the rows with an equal key, then the others: each is a range of the
	// index.
	err = l.read(fmt.Sprintf("s.%s = ? AND s.id %s ?", l.order.sort, id), []any{p.key, p.id})
	if err != nil || l.next != "" {
		return err
	}
	return l.read(fmt.Sprintf("s.%s %s ?", l.order.sort, column), []any{p.key})
}

// start reads where the previous page ended. A plain id means the current position
// of that session.
func (l *listing) start(after string) (pageEnd, error) {
	if strings.Contains(after, "~") {
		return l.order.parse(after)
	}
	p := pageEnd{id: after}
	err := l.tx.QueryRowContext(l.ctx, `SELECT `+string(l.order.sort)+` FROM sessions WHERE id = ?`, after).Scan(&p.key)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("after: %q is not a session id: %w", after[:min(len(after), 200)], core.ErrInvalid)
	}
	return p, err
}

// query returns the SQL that selects the next sessions of the page, in order: their
// n, id and key.
func (l *listing) query(more string, args []any, room int) (string, []any) {
	cond := l.where.String()
	if more != "" {
		cond += " AND " + more
	}
	column := "s." + string(l.order.sort)
	q := `SELECT s.n AS n, s.id AS id, ` + column + ` AS key FROM ` + l.from + ` WHERE ` + cond + ` ORDER BY ` + l.order.by(column, "s.id") + ` LIMIT ?`
	return q, slices.Concat(l.first, l.where.args, args, []any{room})
}

// read reads rows until the page is full.
func (l *listing) read(more string, args []any) error {
	room := -1
	if l.limit > 0 {
		room = l.limit - len(l.rows) + 1 // one more, to know whether there is a next page
	}
	// Select the sessions first, then read their rows.
	these, args := l.query(more, args, room)
	q := `SELECT p.id, p.key, d.row FROM (` + these + `) AS p CROSS JOIN details d ON d.n = p.n ORDER BY ` + l.order.by("p.key", "p.id")
	rows, err := l.tx.QueryContext(l.ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var p pageEnd
		var text sql.RawBytes
		if err := rows.Scan(&p.id, &p.key, &text); err != nil {
			return err
		}
		if l.limit > 0 && len(l.rows) == l.limit {
			l.next = l.order.format(l.last)
			return nil
		}
		r, err := rowOf(text)
		if err != nil {
			return err
		}
		l.rows, l.last = append(l.rows, r), p
	}
	return rows.Err()
}

func rowOf(text []byte) (r catalog.Row, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("a row is not JSON: %w", err)
	}
	return r, nil
}

// Kin returns the rows of a session, its ancestors, its descendants and their other
// parents, the oldest first.
func (x *Index) Kin(ctx context.Context, id core.SessionID) ([]catalog.Row, error) {
	return x.all(ctx, `WITH RECURSIVE
		up(id) AS (SELECT ?1 UNION SELECT l.parent FROM up JOIN links l ON l.child = up.id),
		down(id) AS (SELECT ?1 UNION SELECT l.child FROM down JOIN links l ON l.parent = down.id)
		SELECT d.row AS row FROM sessions s JOIN details d ON d.n = s.n WHERE s.id IN (SELECT id FROM up UNION SELECT id FROM down
			UNION SELECT l.parent FROM down JOIN links l ON l.child = down.id)`, string(id))
}

// all returns the rows that a query selects, the oldest first, by their headers'
// time.
func (x *Index) all(ctx context.Context, query string, args ...any) ([]catalog.Row, error) {
	var out []catalog.Row
	err := x.read(ctx, "the listing of a session's relatives", func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query+` ORDER BY d.row ->> 'created', s.id`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text sql.RawBytes
			if err := rows.Scan(&text); err != nil {
				return err
			}
			r, err := rowOf(text)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return rows.Err()
	})
	return out, err
}
