package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// narrow are the columns that the index of the usual order, that of directories
// and the marks have beside their keys, and all that most conditions look at.
const narrow = "deleted, modified, id, cwd, dialect, closed, held, created, size, cost, entries"

// A where is what a filter asks of a session, as SQL.
type where struct {
	conds []string // of a row s, all of which must hold
	args  []any
	ways  []way // to the sessions that could be asked for, without looking at all of them
	wide  bool  // the conditions look at more than the narrow columns
	// walks says that the index of the listing's order has all that the conditions
	// look at.
	walks bool
}

// A way gives the sessions that one of the conditions leaves.
type way struct {
	query string // of their n
	args  []any
	// from is the same as a table s that has what the conditions look at; where it
	// is empty, rows are looked up by n.
	from    string
	covers  bool   // from has the narrow columns without looking up rows
	ordered bool   // and the usual order
	text    string // to be found in the column of looks, or in both: see sharpen
	column  string
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

// way adds a way to sessions whose rows must be looked up.
func (w *where) way(query string, args ...any) {
	w.ways = append(w.ways, way{query: query, args: args})
}

// along adds a way along a range of an index.
func (w *where) along(index, cond string, args ...any) {
	table := "sessions INDEXED BY " + index + " WHERE " + cond
	w.ways = append(w.ways, way{query: "SELECT n FROM " + table, from: "(SELECT * FROM " + table + ") AS s", args: args, covers: index == "by_cwd" || index == "by_modified"})
}

// String is what follows WHERE.
func (w *where) String() string { return strings.Join(w.conds, " AND ") }

// whereOf makes the SQL of a filter; ordered names what the listing is ordered by,
// empty where it is not a listing.
func whereOf(f *materializer.Filter, ordered materializer.Sort) (*where, error) {
	if err := check(f); err != nil {
		return nil, err
	}
	w := &where{wide: f.Text != "" || f.Name != "" || f.Prefix != "" || ordered == materializer.SortName}
	deleted := 0
	if f.Deleted {
		deleted = 1
	}
	w.add("s.deleted = ?", deleted)
	w.cwd(f, deleted)
	if f.Dialect != "" {
		w.add("s.dialect = ?", clean(f.Dialect))
		w.along("by_dialect", "deleted = ? AND dialect = ?", deleted, clean(f.Dialect))
	}
	w.prefix(f.Prefix)
	w.within(f.Within)
	w.marks(f)
	w.state(f)
	w.ranges(f, ordered, deleted)
	bare := len(w.conds) == 1
	w.texts(f, ordered)
	switch ordered {
	case materializer.SortModified:
		w.walks = f.Prefix == ""
	case materializer.SortName:
		w.walks = bare && f.Text == ""
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

func (w *where) cwd(f *materializer.Filter, deleted int) {
	if f.CWD == "" {
		return
	}
	cwd := clean(materializer.Clip(f.CWD))
	if !f.Below {
		w.add("s.cwd = ?", cwd)
		w.along("by_cwd", "deleted = ? AND cwd = ?", deleted, cwd)
		w.ways[len(w.ways)-1].ordered = true
		return
	}
	dir := strings.TrimRight(cwd, `/\`)
	// "0" and "]" are the signs behind "/" and "\".
	w.add(`(s.cwd = ? OR s.cwd = ? OR s.cwd > ? AND s.cwd < ? OR s.cwd > ? AND s.cwd < ?)`,
		cwd, dir, dir+"/", dir+"0", dir+`\`, dir+"]")
	query := "SELECT n, " + narrow + " FROM sessions INDEXED BY by_cwd WHERE deleted = ? AND cwd "
	query += "IN (?, ?) UNION ALL " + query + "> ? AND cwd < ? UNION ALL " + query + "> ? AND cwd < ?"
	w.way(query, deleted, cwd, dir, deleted, dir+"/", dir+"0", deleted, dir+`\`, dir+"]")
	if !w.wide {
		c := &w.ways[len(w.ways)-1]
		c.from, c.covers = "("+query+") AS s", true
	}
}

// prefix asks for the beginning of an id. It is compared as bytes.
func (w *where) prefix(p string) {
	if p == "" {
		return
	}
	p = clean(p)
	// Nothing that begins with p comes behind p and the last character there is.
	last := p + "\U0010FFFF"
	w.add("(s.id >= ? AND s.id <= ? OR s.agent_id >= ? AND s.agent_id <= ?)", p, last, p, last)
	w.way(`SELECT n FROM sessions WHERE id >= ? AND id <= ?
		UNION SELECT n FROM sessions WHERE agent_id <> '' AND agent_id >= ? AND agent_id <= ?`, p, last, p, last)
}

// within asks for the beginning of the log's own id, and of nothing else.
func (w *where) within(p string) {
	if p == "" {
		return
	}
	p = clean(p)
	last := p + "\U0010FFFF"
	w.add("s.id >= ? AND s.id <= ?", p, last)
	w.way("SELECT n FROM sessions WHERE id >= ? AND id <= ?", p, last)
}

func (w *where) marks(f *materializer.Filter) {
	one := func(m string) {
		w.add("EXISTS (SELECT 1 FROM marks m WHERE m.mark = ? AND m.deleted = s.deleted AND m.modified = s.modified AND m.id = s.id)", m)
		w.way("SELECT n FROM marks WHERE mark = ?", m)
		if !w.wide {
			c := &w.ways[len(w.ways)-1]
			c.from, c.covers, c.ordered = "(SELECT * FROM marks WHERE mark = ?) AS s", true, true
		}
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

// texts asks for what is in names and first messages. A look is both; what is
// before the sign between is the name.
func (w *where) texts(f *materializer.Filter, ordered materializer.Sort) {
	if f.Text != "" {
		text := folded(f.Text)
		w.add("instr(s.look, ?) > 0", text)
		w.lookFor("", text)
	}
	if f.Name == "" {
		return
	}
	name := folded(f.Name)
	if ordered == materializer.SortName {
		w.add("s.name > '' AND instr(s.name, ?) > 0", name) // the listing begins at the first that has one
	} else {
		w.add("instr(s.look, ?) BETWEEN 1 AND instr(s.look, char(31))", name)
	}
	w.lookFor("name", name)
}

// lookFor adds the way by what is in names and first messages, or in one of them.
func (w *where) lookFor(column, text string) {
	gs := grams(text)
	if len(gs) == 0 {
		return // too short for the index
	}
	w.way("SELECT rowid AS n FROM looks WHERE looks MATCH ?", matchOf(column, gs))
	c := &w.ways[len(w.ways)-1]
	c.text, c.column = text, column
}

func (w *where) state(f *materializer.Filter) {
	const those = "SELECT n FROM sessions WHERE held = 1"
	switch f.State {
	case materializer.StateOpen:
		w.add("s.closed = 0")
	case materializer.StateClosed:
		w.add("s.closed = 1")
	case materializer.StateHeld:
		w.add("s.held = 1")
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
		alive[i] = string(h.Session) + between + clean(h.Head) + between + clean(h.Writer)
	}
	list, _ := json.Marshal(alive) // strings always can be
	w.add(`s.held = 1 AND s.closed = 0 AND EXISTS (SELECT 1 FROM holders h WHERE h.n = s.n AND h.since <= ?
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
		cond, args := fmt.Sprintf("deleted = %d", deleted), []any{}
		for _, end := range []struct {
			op string
			v  any
		}{{">=", from}, {"<=", to}} {
			if end.v != nil {
				w.add(fmt.Sprintf("s.%s %s ?", column, end.op), end.v)
				cond += fmt.Sprintf(" AND %s %s ?", column, end.op)
				args = append(args, end.v)
			}
		}
		if column != ordered { // else it is where the listing begins and ends
			w.along("by_"+string(column), cond, args...)
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
