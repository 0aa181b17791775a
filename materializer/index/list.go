package index

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// queryTime is how long a query may take.
const queryTime = 30 * time.Second

// read runs a query's steps on the file as it is at one moment. What fails is
// core.ErrUnavailable, unless f says otherwise.
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
		return fmt.Errorf("%s takes too long; narrow it: %w: %w", what, ctx.Err(), core.ErrUnavailable)
	}
	x.report(err)
	return fmt.Errorf("%s: the directory cannot be read: %v: %w", what, err, core.ErrUnavailable)
}

// An order is what a listing is ordered by: a column and the id, each up or down.
type order struct {
	sort     materializer.Sort
	down     bool // the column; ids go up where the order is not turned round
	reversed bool
}

func orderOf(f *materializer.Filter) order {
	o := order{sort: f.Sort, reversed: f.Reverse}
	if o.sort == "" {
		o.sort = materializer.SortModified
	}
	o.down = (o.sort != materializer.SortName) != o.reversed
	return o
}

// by is what follows ORDER BY.
func (o order) by(column, id string) string {
	if o.down {
		column += " DESC"
	}
	if o.reversed {
		id += " DESC"
	}
	return column + ", " + id
}

// A place is where a page ended.
type place struct {
	key any // of the order's column
	id  string
}

// String is the place for a caller to give back.
func (o order) String(p place) string {
	var key string
	switch k := p.key.(type) {
	case int64:
		key = strconv.FormatInt(k, 10)
	case float64:
		key = strconv.FormatFloat(k, 'g', -1, 64)
	case string:
		key = base64.RawURLEncoding.EncodeToString([]byte(k))
	}
	turn := "n"
	if o.reversed {
		turn = "r"
	}
	return strings.Join([]string{string(o.sort), turn, key, p.id}, "~")
}

// parse reads what String wrote.
func (o order) parse(s string) (place, error) {
	parts := strings.Split(s, "~")
	if len(parts) == 4 {
		var key any
		var err error
		switch o.sort {
		case materializer.SortName:
			var b []byte
			b, err = base64.RawURLEncoding.DecodeString(parts[2])
			key = string(b)
		case materializer.SortCost:
			key, err = strconv.ParseFloat(parts[2], 64)
		default:
			key, err = strconv.ParseInt(parts[2], 10, 64)
		}
		if p := (place{key, parts[3]}); err == nil && o.String(p) == s {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("after %q is not the next of a page in this order: %w", s[:min(len(s), 200)], core.ErrInvalid)
}

// List returns a page of rows. It returns core.ErrInvalid if f is not valid.
func (x *Index) List(ctx context.Context, f materializer.Filter) (materializer.Page, error) {
	o := orderOf(&f)
	w, err := whereOf(&f, o.sort)
	if err != nil {
		return materializer.Page{}, err
	}
	page := materializer.Page{}
	err = x.read(ctx, "the listing", func(ctx context.Context, tx *sql.Tx) error {
		if page.Mark, err = x.mark(ctx, tx); err != nil {
			return err
		}
		l := &listing{ctx: ctx, tx: tx, where: w, order: o, limit: f.Limit, rows: []materializer.Row{}}
		if err := l.run(f.After); err != nil {
			return err
		}
		page.Rows, page.Next = l.rows, l.next
		return nil
	})
	return page, err
}

// A listing is a page that is being read.
type listing struct {
	ctx   context.Context
	tx    *sql.Tx
	where *where
	order order
	limit int // 0 for all
	from  string
	first []any // arguments of from
	rows  []materializer.Row
	last  place
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
	// What is equal first, then what is not: an index has the beginning of each.
	err = l.read(fmt.Sprintf("s.%s = ? AND s.id %s ?", l.order.sort, id), []any{p.key, p.id})
	if err != nil || l.next != "" {
		return err
	}
	return l.read(fmt.Sprintf("s.%s %s ?", l.order.sort, column), []any{p.key})
}

// start reads where the page before ended. A plain id means that session's place
// as it is now.
func (l *listing) start(after string) (place, error) {
	if strings.Contains(after, "~") {
		return l.order.parse(after)
	}
	p := place{id: after}
	err := l.tx.QueryRowContext(l.ctx, `SELECT `+string(l.order.sort)+` FROM sessions WHERE id = ?`, after).Scan(&p.key)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("after %q is no session that is there: %w", after[:min(len(after), 200)], core.ErrInvalid)
	}
	return p, err
}

// query is the SQL of which sessions come next on the page, in its order: their
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
		room = l.limit - len(l.rows) + 1 // one more, to know whether there is
	}
	// Which rows they are first, the rows themselves then.
	these, args := l.query(more, args, room)
	q := `SELECT p.id, p.key, d.row FROM (` + these + `) AS p CROSS JOIN details d ON d.n = p.n ORDER BY ` + l.order.by("p.key", "p.id")
	rows, err := l.tx.QueryContext(l.ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var p place
		var text sql.RawBytes
		if err := rows.Scan(&p.id, &p.key, &text); err != nil {
			return err
		}
		if l.limit > 0 && len(l.rows) == l.limit {
			l.next = l.order.String(l.last)
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

func rowOf(text []byte) (r materializer.Row, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("a row that is no JSON: %w", err)
	}
	return r, nil
}

// Kin returns the rows of a session, its ancestors and its descendants, the oldest
// first.
func (x *Index) Kin(ctx context.Context, id core.SessionID) ([]materializer.Row, error) {
	return x.all(ctx, `WITH RECURSIVE
		up(id) AS (SELECT ?1 UNION SELECT l.parent FROM up JOIN links l ON l.child = up.id),
		down(id) AS (SELECT ?1 UNION SELECT l.child FROM down JOIN links l ON l.parent = down.id)
		SELECT d.row AS row FROM sessions s JOIN details d ON d.n = s.n WHERE s.id IN (SELECT id FROM up UNION SELECT id FROM down)`, string(id))
}

// all returns the rows that a query gives, the oldest first, by what their
// headers say.
func (x *Index) all(ctx context.Context, query string, args ...any) ([]materializer.Row, error) {
	var out []materializer.Row
	err := x.read(ctx, "the listing of a session's kin", func(ctx context.Context, tx *sql.Tx) error {
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
