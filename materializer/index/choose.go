package index

import (
	"math"
	"slices"

	"github.com/sesslog/sesslog/materializer"
)

// What it costs to look up a row, beside that of going on to the next in an index
// that has all there is to look at, and within which number of rows it is decided
// that few are few.
const (
	lookup   = 10
	minWorth = 500
	maxWorth = 20_000
	// fewEnough is below what cost no text is looked for to find fewer.
	fewEnough = 1000
)

// choose finds the cheapest way: through the sessions that one of the filter's
// conditions leaves, where these are few, or else through all in the listing's
// order until the page is full. The engine is not left to guess, for it keeps no
// statistics that would tell; each way is counted as far as it is worth it.
func (l *listing) choose() error {
	l.from = "sessions s INDEXED BY by_" + string(l.order.sort)
	ordered := -1
	if l.order.sort == materializer.SortModified {
		ordered = slices.IndexFunc(l.where.ways, func(c way) bool { return c.ordered })
	}
	if ordered == 0 && len(l.where.ways) == 1 {
		l.take(l.where.ways[0], "")
		return nil
	}
	var total int
	if err := l.tx.QueryRowContext(l.ctx, `SELECT coalesce(max(n), 0) FROM sessions`).Scan(&total); err != nil {
		return err
	}
	least := math.MaxInt
	for _, c := range l.where.ways {
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
		l.take(l.where.ways[ordered], "")
	}
	return nil
}

// take has the listing go c's way.
func (l *listing) take(c way, these string) {
	l.from, l.first = c.from, c.args
	switch {
	case c.text != "": // asking for it twice costs more than keeping the answer
		l.from, l.first = "json_each(?) AS c CROSS JOIN sessions s NOT INDEXED ON s.n = c.value", []any{these}
	case c.from == "":
		l.from = "(SELECT n FROM (" + c.query + ")) AS c CROSS JOIN sessions s NOT INDEXED ON s.n = c.n"
	}
}

// count counts the sessions of a way, up to most. It returns those of a text, too,
// as a list in JSON.
func (l *listing) count(c way, most int) (n int, these string, err error) {
	list := `''`
	if c.text != "" {
		list = `json_group_array(n)`
	}
	q := `SELECT count(*), ` + list + ` FROM (SELECT n FROM (` + c.query + `) LIMIT ?)`
	err = l.tx.QueryRowContext(l.ctx, q, append(slices.Clone(c.args), most)...).Scan(&n, &these)
	return n, these, err
}

// worth is how many rows of a way, each at that cost, take no longer than it takes
// to meet a page of as rare ones among all.
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
