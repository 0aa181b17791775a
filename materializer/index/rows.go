package index

import (
	"context"
	"database/sql"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// rowsAtOnce is how many rows Rows has in memory.
const rowsAtOnce = 500

// Rows yields the row of every session, including deleted and erased ones, ordered by
// id. It reads a page at a time and holds nothing in between, so a row that is added or
// changed meanwhile may be missed or not. An error is yielded once, last.
func (x *Index) Rows(ctx context.Context) iter.Seq2[catalog.Row, error] {
	return func(yield func(catalog.Row, error) bool) {
		after := ""
		for {
			page, last, err := x.rowsAfter(ctx, after)
			if err != nil {
				yield(catalog.Row{}, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) < rowsAtOnce {
				return
			}
			after = last
		}
	}
}

// Row returns the row of a session. ok is false if there is none.
func (x *Index) Row(ctx context.Context, id core.SessionID) (row catalog.Row, ok bool, err error) {
	x.Sync(ctx)
	rows, err := x.all(ctx, `SELECT d.row AS row FROM sessions s JOIN details d ON d.n = s.n WHERE s.id = ?`, string(id))
	if err != nil || len(rows) == 0 {
		return catalog.Row{}, false, err
	}
	return rows[0], true, nil
}

// rowsAfter returns the next rows by id, and the id of the last one.
func (x *Index) rowsAfter(ctx context.Context, after string) (page []catalog.Row, last string, err error) {
	err = x.read(ctx, "the listing of all sessions", func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT s.id, d.row FROM sessions s JOIN details d ON d.n = s.n WHERE s.id > ? ORDER BY s.id LIMIT ?`, after, rowsAtOnce)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text sql.RawBytes
			if err := rows.Scan(&last, &text); err != nil {
				return err
			}
			r, err := rowOf(text)
			if err != nil {
				return err
			}
			page = append(page, r)
		}
		return rows.Err()
	})
	return page, last, err
}
