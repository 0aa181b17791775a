package index

import (
	"math"
	"slices"

	"github.com/sesslog/sesslog/session/catalog"
)

// lookup is the cost of looking up a row, relative to the cost of the next entry of
// a covering index. minWorth and maxWorth bound how many rows of an access path are
// counted.
const (
	lookup   = 3
	minWorth = 500
	maxWorth = 20_000
	// fewEnough is the cost below which no trigram index is tried to find fewer
	// rows.
	fewEnough = 1000
)

// choose selects the cheapest access path: through the sessions that one of the
// filter's conditions leaves, if these are few, or else through all sessions in the
// listing's order until the page is full. SQLite has no statistics to choose by, so
// each path is counted, as far as that is worth it.
func (l *listing) choose() error {
	l.from = "sessions s INDEXED BY by_" + string(l.order.sort)
	ordered := -1
	if l.order.sort == catalog.SortModified {
		ordered = slices.IndexFunc(l.where.paths, func(c accessPath) bool { return c.ordered })
	}
	if ordered == 0 && len(l.where.paths) == 1 {
		l.take(l.where.paths[0], "")
		return nil
	}
	var total int
	if err := l.tx.QueryRowContext(l.ctx, `SELECT coalesce(max(n), 0) FROM sessions`).Scan(&total); err != nil {
		return err
	}
	least := math.MaxInt
	for _, c := range l.where.paths {
		cost := lookup
		if c.covers && !l.where.wide {
			cost = 1
		}
		worth := l.worth(total, cost)
		if c.text != "" && (least <= fewEnough || !l.sharpen(&c, worth, total)) {
			continue
		}
		most := min(worth, least/cost)
		n, these, err := l.count(c, most)
		if err != nil {
			return err
		}
		if n >= most {
			continue
		}
		least = n * cost
		l.take(c, these)
	}
	// Part of the order's index, in the same order, is never longer than all of it.
	if least == math.MaxInt && ordered >= 0 {
		l.take(l.where.paths[ordered], "")
	}
	return nil
}

// take selects access path c.
func (l *listing) take(c accessPath, these string) {
	l.from, l.first = c.from, c.args
	switch {
	case c.text != "": // a second full-text query costs more than keeping its result
		l.from, l.first = "json_each(?) AS c CROSS JOIN sessions s NOT INDEXED ON s.n = c.value", []any{these}
	case c.from == "":
		l.from = "(SELECT n FROM (" + c.query + ")) AS c CROSS JOIN sessions s NOT INDEXED ON s.n = c.n"
	}
}

// count counts the sessions of an access path, up to most. For a full-text path it
// also returns them, as a JSON list.
func (l *listing) count(c accessPath, most int) (n int, these string, err error) {
	list := `''`
	if c.text != "" {
		list = `json_group_array(n)`
	}
	q := `SELECT count(*), ` + list + ` FROM (SELECT n FROM (` + c.query + `) LIMIT ?)`
	err = l.tx.QueryRowContext(l.ctx, q, append(slices.Clone(c.args), most)...).Scan(&n, &these)
	return n, these, err
}

// worth returns how many rows of an access path, at this cost each, take as long as
// walking all sessions until a page of equally rare ones is full.
func (l *listing) worth(total, cost int) int {
	if l.limit == 0 {
		return math.MaxInt32
	}
	walk := lookup
	if l.where.walks {
		walk = 1
	}
	worth := math.Sqrt(float64(total) * float64(l.limit) * float64(walk) / float64(cost))
	return min(max(int(worth), minWorth), maxWorth)
}
