package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/words"
)

// A where is what a filter asks of a session, as SQL.
type where struct {
	conds []string // of a row s, all of which must hold
	args  []any
	// ways are what gives the sessions that could be asked for without looking at
	// all of them: a query of their n each.
	ways []way
	// narrow says that the index of the listing's order has all that the
	// conditions look at.
	narrow bool
}

type way struct {
	query string
	args  []any
	dear  bool // asking for it twice costs more than keeping the answer
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

func (w *where) way(query string, args ...any) {
	w.ways = append(w.ways, way{query: query, args: args})
}

// String is what follows WHERE.
func (w *where) String() string { return strings.Join(w.conds, " AND ") }

// whereOf makes the SQL of a filter. Columns stand behind a +, which keeps the
// engine from choosing an index by guess; ordered names what the listing is
// ordered by, empty where it is not a listing.
func whereOf(f *materializer.Filter, ordered materializer.Sort) (*where, error) {
	if err := check(f); err != nil {
		return nil, err
	}
	w := &where{}
	deleted := 0
	if f.Deleted {
		deleted = 1
	}
	if ordered == "" {
		w.add("+s.deleted = ?", deleted)
	} else {
		w.add("s.deleted = ?", deleted)
	}
	w.cwd(f, ordered, deleted)
	if f.Dialect != "" {
		if ordered == materializer.SortModified && (f.CWD == "" || f.Below) {
			w.add("s.dialect = ?", words.Clean(f.Dialect)) // by_dialect has the order
		} else {
			w.add("+s.dialect = ?", words.Clean(f.Dialect))
			w.way("SELECT n FROM sessions WHERE deleted = ? AND dialect = ?", deleted, words.Clean(f.Dialect))
		}
	}
	w.prefix(f.Prefix)
	w.within(f.Within)
	w.marks(f)
	w.texts(f, ordered)
	w.state(f)
	w.ranges(f, ordered, deleted)
	switch ordered {
	case materializer.SortModified:
		w.narrow = f.Text == "" && f.Name == "" && f.Prefix == "" && f.Within == ""
	case materializer.SortName:
		w.narrow = f.Name != "" && len(w.conds) == 3 // deleted, and two of the name
	}
	return w, nil
}

// check says what is wrong with a filter.
func check(f *materializer.Filter) error {
	if f.State != "" && !slices.Contains(materializer.States, f.State) {
		return fmt.Errorf("state %q: use one of %v: %w", f.State, materializer.States, core.ErrInvalid)
	}
	if f.Sort != "" && !slices.Contains(materializer.Sorts, f.Sort) {
		return fmt.Errorf("sort %q: use one of %v: %w", f.Sort, materializer.Sorts, core.ErrInvalid)
	}
	const most = 16
	if len(f.Tags) > most {
		return fmt.Errorf("%d tags, at most %d are possible: %w", len(f.Tags), most, core.ErrInvalid)
	}
	return nil
}

func (w *where) cwd(f *materializer.Filter, ordered materializer.Sort, deleted int) {
	if f.CWD == "" {
		return
	}
	cwd := words.Clean(materializer.Clip(f.CWD))
	if !f.Below {
		if ordered == materializer.SortModified {
			w.add("s.cwd = ?", cwd) // by_cwd has the order
			return
		}
		w.add("+s.cwd = ?", cwd)
		w.way("SELECT n FROM sessions WHERE deleted = ? AND cwd = ?", deleted, cwd)
		return
	}
	dir := strings.TrimRight(cwd, `/\`)
	// "0" and "]" are the signs behind "/" and "\".
	w.add(`(+s.cwd = ? OR +s.cwd = ? OR +s.cwd > ? AND +s.cwd < ? OR +s.cwd > ? AND +s.cwd < ?)`,
		cwd, dir, dir+"/", dir+"0", dir+`\`, dir+"]")
	w.way(`SELECT n FROM sessions WHERE deleted = ? AND cwd IN (?, ?)
		UNION ALL SELECT n FROM sessions WHERE deleted = ? AND cwd > ? AND cwd < ?
		UNION ALL SELECT n FROM sessions WHERE deleted = ? AND cwd > ? AND cwd < ?`,
		deleted, cwd, dir, deleted, dir+"/", dir+"0", deleted, dir+`\`, dir+"]")
}

// prefix asks for the beginning of an id. It is compared as bytes.
func (w *where) prefix(p string) {
	if p == "" {
		return
	}
	p = words.Clean(p)
	// Nothing that begins with p comes behind p and the last character there is.
	last := p + "\U0010FFFF"
	w.add("(+s.id >= ? AND +s.id <= ? OR +s.agent_id >= ? AND +s.agent_id <= ?)", p, last, p, last)
	w.way(`SELECT n FROM sessions WHERE id >= ? AND id <= ?
		UNION SELECT n FROM sessions WHERE agent_id <> '' AND agent_id >= ? AND agent_id <= ?`, p, last, p, last)
}

// within asks for the beginning of the log's own id, and of nothing else.
func (w *where) within(p string) {
	if p == "" {
		return
	}
	p = words.Clean(p)
	last := p + "\U0010FFFF"
	w.add("+s.id >= ? AND +s.id <= ?", p, last)
	w.way("SELECT n FROM sessions WHERE id >= ? AND id <= ?", p, last)
}

func (w *where) marks(f *materializer.Filter) {
	one := func(m string) {
		w.add("EXISTS (SELECT 1 FROM marks m WHERE m.mark = ? AND m.n = s.n)", m)
		w.way("SELECT n FROM marks WHERE mark = ?", m)
	}
	for _, tag := range f.Tags {
		one(mark(tagMark, tag))
	}
	if f.Label != "" {
		one(mark(labelMark, f.Label))
	}
	if f.Holder != "" {
		one(mark(holderMark, f.Holder))
	}
}

func (w *where) texts(f *materializer.Filter, ordered materializer.Sort) {
	if f.Text != "" {
		text := folded(f.Text)
		w.add("instr(s.look, ?) > 0", text)
		w.lookFor("", text)
	}
	if f.Name != "" {
		name := folded(f.Name)
		w.add("instr(s.name, ?) > 0", name)
		w.add(map[bool]string{true: "s.name > ''", false: "+s.name > ''"}[ordered == materializer.SortName]) // where it is the order, the listing begins there
		w.lookFor("name : ", name)
	}
}

// maxGrams is how many groups of three letters are looked for: enough to leave
// few rows to compare.
const maxGrams = 16

// lookFor adds the way by what is in names and first messages, or in one of them.
func (w *where) lookFor(column, text string) {
	rs := []rune(text)
	n := len(rs) - 2
	if n < 1 {
		return // too short for the index
	}
	var grams []string
	for i := range min(n, maxGrams) {
		at := i * n / min(n, maxGrams)
		grams = append(grams, `"`+strings.ReplaceAll(string(rs[at:at+3]), `"`, `""`)+`"`)
	}
	w.way("SELECT rowid AS n FROM looks WHERE looks MATCH ?", column+"("+strings.Join(grams, " AND ")+")")
	w.ways[len(w.ways)-1].dear = true
}

func (w *where) state(f *materializer.Filter) {
	const those = "SELECT n FROM sessions WHERE held = 1"
	switch f.State {
	case materializer.StateOpen:
		w.add("+s.closed = 0")
	case materializer.StateClosed:
		w.add("+s.closed = 1")
	case materializer.StateHeld:
		w.add("+s.held = 1")
		w.way(those)
	case materializer.StateInterrupted:
		w.way(those)
		w.silent(f.Silence)
	}
}

// silent asks for sessions that are open and held by somebody who is not there.
func (w *where) silent(q *materializer.Silence) {
	if q == nil {
		q = &materializer.Silence{Since: time.Now()}
	}
	alive := make([]string, len(q.Alive))
	for i, h := range q.Alive {
		alive[i] = string(h.Session) + between + words.Clean(h.Head) + between + words.Clean(h.Writer)
	}
	list, _ := json.Marshal(alive) // strings always can be
	w.add(`+s.held = 1 AND +s.closed = 0 AND EXISTS (SELECT 1 FROM holders h WHERE h.n = s.n AND h.since <= ?
		AND s.id || char(31) || h.head || char(31) || h.writer NOT IN (SELECT value FROM json_each(?)))`, q.Since.UnixMilli(), string(list))
}

func (w *where) ranges(f *materializer.Filter, ordered materializer.Sort, deleted int) {
	ms := func(r materializer.Range[time.Time]) (from, to any) {
		if r.From != nil {
			from = r.From.UnixMilli()
		}
		if r.To != nil {
			to = r.To.UnixMilli()
		}
		return from, to
	}
	span := func(column materializer.Sort, from, to any) {
		if from == nil && to == nil {
			return
		}
		plus := "+"
		if column == ordered {
			plus = "" // it is where the listing begins and ends
		}
		query, args := fmt.Sprintf("SELECT n FROM sessions WHERE deleted = %d", deleted), []any{}
		for _, end := range []struct {
			op string
			v  any
		}{{">=", from}, {"<=", to}} {
			if end.v != nil {
				w.add(fmt.Sprintf("%ss.%s %s ?", plus, column, end.op), end.v)
				query += fmt.Sprintf(" AND %s %s ?", column, end.op)
				args = append(args, end.v)
			}
		}
		if column != ordered {
			w.way(query, args...)
		}
	}
	from, to := ms(f.Modified)
	span(materializer.SortModified, from, to)
	from, to = ms(f.Created)
	span(materializer.SortCreated, from, to)
	from, to = bounds(f.Size)
	span(materializer.SortSize, from, to)
	from, to = bounds(f.Cost)
	span(materializer.SortCost, from, to)
}

func bounds[T any](r materializer.Range[T]) (from, to any) {
	if r.From != nil {
		from = *r.From
	}
	if r.To != nil {
		to = *r.To
	}
	return from, to
}
