package index

import (
	"slices"
	"strings"
)

// maxTrigrams limits the trigrams of a query: enough to leave few rows to compare.
const maxTrigrams = 16

// trigrams returns trigrams of text, at most maxTrigrams of them, spread over it.
func trigrams(text string) (gs []string) {
	rs := []rune(text)
	n := len(rs) - 2
	for i := range min(n, maxTrigrams) {
		at := i * n / min(n, maxTrigrams)
		gs = append(gs, string(rs[at:at+3]))
	}
	return gs
}

// matchTrigrams returns the full-text expression for all of gs, in one column or in
// either.
func matchTrigrams(column string, gs []string) string {
	quoted := make([]string, len(gs))
	for i, g := range gs {
		quoted[i] = `"` + strings.ReplaceAll(g, `"`, `""`) + `"`
	}
	match := "(" + strings.Join(quoted, " AND ") + ")"
	if column != "" {
		match = column + " : " + match
	}
	return match
}

const (
	sampleSize   = 500 // how many of the newest rows are sampled to find rare trigrams
	mostTrigrams = 4   // how many trigrams are searched for then
)

// sharpen narrows a full-text path to the rarest trigrams: each one costs a look at
// every row that has it, and a frequent one excludes few. It returns false if the
// text is so frequent that walking the order soon fills a page.
func (l *listing) sharpen(c *accessPath, worth, total int) bool {
	headings, err := l.sample(c.column)
	if err != nil {
		return true // the caller's query meets the error again
	}
	have := 0
	for _, heading := range headings {
		if strings.Contains(heading, c.text) {
			have++
		}
	}
	if have*total > 2*worth*len(headings) {
		return false
	}
	c.args = []any{matchTrigrams(c.column, rarest(trigrams(c.text), headings))}
	return true
}

// sample returns the headings, or names, of the newest sessions.
func (l *listing) sample(column string) ([]string, error) {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT heading FROM sessions INDEXED BY by_modified WHERE deleted = 0 ORDER BY modified DESC LIMIT ?`, sampleSize)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	headings := make([]string, 0, sampleSize)
	for rows.Next() {
		var heading string
		if err := rows.Scan(&heading); err != nil {
			return nil, err
		}
		if column != "" {
			heading = nameOf(heading)
		}
		headings = append(headings, heading)
	}
	return headings, rows.Err()
}

// rarest returns those of gs that few headings have in common. It greedily takes
// the trigram that leaves the fewest headings, and among equals the one that is
// rarest on its own.
func rarest(gs, headings []string) (out []string) {
	alone := map[string]int{}
	for _, g := range gs {
		alone[g] = len(containing(headings, g))
	}
	gs = slices.Clone(gs)
	for left := headings; len(gs) > 0 && len(out) < mostTrigrams; {
		best, rest := 0, containing(left, gs[0])
		for i, g := range gs[1:] {
			if r := containing(left, g); len(r) < len(rest) || len(r) == len(rest) && alone[g] < alone[gs[best]] {
				best, rest = i+1, r
			}
		}
		out, left = append(out, gs[best]), rest
		gs = slices.Delete(gs, best, best+1)
	}
	return out
}

// containing returns those of headings that contain g.
func containing(headings []string, g string) (out []string) {
	for _, heading := range headings {
		if strings.Contains(heading, g) {
			out = append(out, heading)
		}
	}
	return out
}
