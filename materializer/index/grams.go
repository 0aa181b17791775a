package index

import (
	"slices"
	"strings"
)

// maxGrams is how many groups of three letters are looked for: enough to leave
// few rows to compare.
const maxGrams = 16

// grams are the groups of three letters in text, at most maxGrams of them, spread
// over it.
func grams(text string) (gs []string) {
	rs := []rune(text)
	n := len(rs) - 2
	for i := range min(n, maxGrams) {
		at := i * n / min(n, maxGrams)
		gs = append(gs, string(rs[at:at+3]))
	}
	return gs
}

// matchOf is what looks are asked for: all of gs, in a column or in both.
func matchOf(column string, gs []string) string {
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
	sampled = 500 // how many of the newest rows tell which groups of letters are rare
	telling = 4   // how many groups are looked for then
)

// sharpen narrows what a way by text asks for to the groups of letters that tell
// most: each costs the engine a look at every row that has it, and a frequent one
// leaves as many as before. It returns false where the text itself is so frequent
// that going along the order will soon meet a page of it.
func (l *listing) sharpen(c *way, worth, total int) bool {
	looks, err := l.sample(c.column)
	if err != nil {
		return true // as it is; who asks for it meets the error again
	}
	have := 0
	for _, look := range looks {
		if strings.Contains(look, c.text) {
			have++
		}
	}
	if have*total > 2*worth*len(looks) {
		return false
	}
	c.args = []any{matchOf(c.column, rarest(grams(c.text), looks))}
	return true
}

// sample returns the newest looks, or names.
func (l *listing) sample(column string) ([]string, error) {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT look FROM sessions INDEXED BY by_modified WHERE deleted = 0 ORDER BY modified DESC LIMIT ?`, sampled)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	looks := make([]string, 0, sampled)
	for rows.Next() {
		var look string
		if err := rows.Scan(&look); err != nil {
			return nil, err
		}
		if column != "" {
			look = nameOf(look)
		}
		looks = append(looks, look)
	}
	return looks, rows.Err()
}

// rarest returns those of gs that together are in the fewest looks: each time the
// one that leaves the fewest of those that have all before it, and among such the
// one that is the rarest by itself.
func rarest(gs, looks []string) (out []string) {
	alone := map[string]int{}
	for _, g := range gs {
		alone[g] = len(having(looks, g))
	}
	gs = slices.Clone(gs)
	for left := looks; len(gs) > 0 && len(out) < telling; {
		best, rest := 0, having(left, gs[0])
		for i, g := range gs[1:] {
			if r := having(left, g); len(r) < len(rest) || len(r) == len(rest) && alone[g] < alone[gs[best]] {
				best, rest = i+1, r
			}
		}
		out, left = append(out, gs[best]), rest
		gs = slices.Delete(gs, best, best+1)
	}
	return out
}

// having returns those of looks that have g.
func having(looks []string, g string) (out []string) {
	for _, look := range looks {
		if strings.Contains(look, g) {
			out = append(out, look)
		}
	}
	return out
}
