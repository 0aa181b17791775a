package index

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// mark returns the mark of the last change that tx sees.
func (x *Index) mark(ctx context.Context, tx *sql.Tx) (catalog.Mark, error) {
	var last int64
	err := tx.QueryRowContext(ctx, `SELECT max(
		coalesce((SELECT max(change) FROM sessions), 0), coalesce((SELECT max(change) FROM removed), 0))`).Scan(&last)
	return x.markAt(last), err
}

func (x *Index) markAt(change int64) catalog.Mark {
	return catalog.Mark(fmt.Sprintf("%s-%d", x.db.epoch, change))
}

// changeAt parses a mark. It returns core.ErrLost if the mark is of another file,
// or so old that sessions removed since are no longer known.
func (x *Index) changeAt(ctx context.Context, tx *sql.Tx, m catalog.Mark) (int64, error) {
	epoch, number, _ := strings.Cut(string(m), "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("after: %q is not a position in a listing: %w", m[:min(len(m), 80)], core.ErrInvalid)
	}
	var trimmed int64
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'trimmed'`).Scan(&trimmed)
	if err != nil {
		return 0, err
	}
	if epoch != x.db.epoch || n < trimmed {
		return 0, fmt.Errorf("after %q is of another node's directory, or of one that was rebuilt: list again: %w", m[:min(len(m), 80)], core.ErrLost)
	}
	return n, nil
}

// Changes returns up to limit rows that changed after a mark, oldest change first, and
// the mark to continue from. Each row appears once, in its current state. It returns
// core.ErrLost if the mark is of another directory: the caller lists again.
func (x *Index) Changes(ctx context.Context, f catalog.Filter, after catalog.Mark, limit int) (cs []catalog.Change, end catalog.Mark, err error) {
	w, err := conditionsOf(&f, "")
	if err != nil {
		return nil, after, err
	}
	end = after
	err = x.read(ctx, "the changes", func(ctx context.Context, tx *sql.Tx) error {
		from, err := x.changeAt(ctx, tx, after)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT change, id, row FROM (
			SELECT s.change AS change, s.id AS id, CASE WHEN `+w.String()+` THEN (SELECT d.row FROM details d WHERE d.n = s.n) END AS row FROM sessions s WHERE s.change > ?
			UNION ALL SELECT g.change, g.id, NULL FROM removed g WHERE g.change > ?)
			ORDER BY change LIMIT ?`, slices.Concat(w.args, []any{from, from, limit})...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var change int64
			var id string
			var text sql.RawBytes
			if err := rows.Scan(&change, &id, &text); err != nil {
				return err
			}
			c := catalog.Change{ID: core.SessionID(id), Mark: x.markAt(change)}
			if text != nil {
				r, err := rowOf(text)
				if err != nil {
					return err
				}
				c.Row = &r
			}
			cs, end = append(cs, c), c.Mark
		}
		return rows.Err()
	})
	return cs, end, err
}
