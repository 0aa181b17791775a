package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// narrow are the columns that the indexes of the default order, of directories and
// of marks cover. Most conditions need no others.
const narrow = "deleted, modified, id, cwd, dialect, closed, held, created, size, cost, entries"

// A where is the SQL of a filter.
type where struct {
	conds []string // on a row s, all of which must hold
	args  []any
	paths []accessPath // access paths that avoid reading all sessions
	wide  bool         // the conditions need more than the narrow columns
	// walks means that the index of the listing's order covers all conditions.
	walks bool
}

// An accessPath yields the sessions that one of the conditions leaves.
type accessPath struct {
	query string // selects their n
	args  []any
	// from is a table s with the columns that the conditions need. If it is empty,
	// rows are looked up by n.
	from    string
	covers  bool   // from has the narrow columns without looking up rows
	ordered bool   // and it is in the default order
	text    string // to be found in a column of headings, or in either: see sharpen
	column  string
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

// path adds an access path whose rows must be looked up.
func (w *where) path(query string, args ...any) {
	w.paths = append(w.paths, accessPath{query: query, args: args})
}

// pathAlong adds an access path along a range of an index.
func (w *where) pathAlong(index, cond string, args ...any) {
	table := "sessions INDEXED BY " + index + " WHERE " + cond
	w.paths = append(w.paths, accessPath{query: "SELECT n FROM " + table, from: "(SELECT * FROM " + table + ") AS s", args: args, covers: index == "by_cwd" || index == "by_modified"})
}

// String returns what follows WHERE.
func (w *where) String() string { return strings.Join(w.conds, " AND ") }

// conditionsOf returns the SQL of a filter. ordered is the order of the listing, empty
// if it is not a listing.
func conditionsOf(f *catalog.Filter, ordered catalog.Sort) (*where, error) {
	if err := check(f); err != nil {
		return nil, err
	}
	w := &where{wide: f.Text != "" || f.Fuzzy != "" || f.Name != "" || f.Prefix != "" || ordered == catalog.SortName || ordered == catalog.SortChanged}
	deleted := 0
	if f.Deleted {
		deleted = 1
	}
	w.add("s.deleted = ?", deleted)
	w.cwd(f, deleted)
	if f.Dialect != "" {
		w.add("s.dialect = ?", clean(f.Dialect))
		w.pathAlong("by_dialect", "deleted = ? AND dialect = ?", deleted, clean(f.Dialect))
	}
	w.prefix(f.Prefix)
	w.within(f.Within)
	w.marks(f)
	w.state(f)
	w.ranges(f, ordered, deleted)
	bare := len(w.conds) == 1
	w.texts(f, ordered)
	switch ordered {
	case catalog.SortModified:
		w.walks = f.Prefix == ""
	case catalog.SortName:
		w.walks = bare && f.Text == "" && f.Fuzzy == ""
	}
	return w, nil
}

// check validates a filter.
func check(f *catalog.Filter) error {
	if f.State != "" && !slices.Contains(catalog.States, f.State) {
		return fmt.Errorf("state %q: use one of %v: %w", f.State, catalog.States, core.ErrInvalid)
	}
	if f.Sort != "" && !slices.Contains(catalog.Sorts, f.Sort) {
		return fmt.Errorf("sort %q: use one of %v: %w", f.Sort, catalog.Sorts, core.ErrInvalid)
	}
	if len(f.Fuzzy) > maxFuzzy {
		return fmt.Errorf("fuzzy search of %d bytes, the limit is %d: %w", len(f.Fuzzy), maxFuzzy, core.ErrInvalid)
	}
	const most = 16
	if len(f.Tags) > most {
		return fmt.Errorf("%d tags, the limit is %d: %w", len(f.Tags), most, core.ErrInvalid)
	}
	return nil
}

func (w *where) cwd(f *catalog.Filter, deleted int) {
	if f.CWD == "" {
		return
	}
	cwd := clean(materializer.Clip(f.CWD))
	if !f.Below {
		w.add("s.cwd = ?", cwd)
		w.pathAlong("by_cwd", "deleted = ? AND cwd = ?", deleted, cwd)
		w.paths[len(w.paths)-1].ordered = true
		return
	}
	dir := strings.TrimRight(cwd, `/\`)
	itself := cmp.Or(dir, cwd) // the root is only separators, and sessions without a directory are not below it
	// "0" and "]" are the characters after "/" and "\".
	w.add(`(s.cwd = ? OR s.cwd = ? OR s.cwd > ? AND s.cwd < ? OR s.cwd > ? AND s.cwd < ?)`,
		cwd, itself, dir+"/", dir+"0", dir+`\`, dir+"]")
	query := "SELECT n, " + narrow + " FROM sessions INDEXED BY by_cwd WHERE deleted = ? AND cwd "
	query += "IN (?, ?) UNION ALL " + query + "> ? AND cwd < ? UNION ALL " + query + "> ? AND cwd < ?"
	w.path(query, deleted, cwd, itself, deleted, dir+"/", dir+"0", deleted, dir+`\`, dir+"]")
	if !w.wide {
		c := &w.paths[len(w.paths)-1]
		c.from, c.covers = "("+query+") AS s", true
	}
}

// prefix selects a prefix of an id. It is compared as bytes.
func (w *where) prefix(p string) {
	if p == "" {
		return
	}
	p = clean(p)
	// No string with prefix p is greater than p followed by the last code point.
	last := p + "\U0010FFFF"
	w.add("(s.id >= ? AND s.id <= ? OR s.agent_id >= ? AND s.agent_id <= ?)", p, last, p, last)
	w.path(`SELECT n FROM sessions WHERE id >= ? AND id <= ?
		UNION SELECT n FROM sessions WHERE agent_id <> '' AND agent_id >= ? AND agent_id <= ?`, p, last, p, last)
}

// within selects a prefix of the log's own id only.
func (w *where) within(p string) {
	if p == "" {
		return
	}
	p = clean(p)
	last := p + "\U0010FFFF"
	w.add("s.id >= ? AND s.id <= ?", p, last)
	w.path("SELECT n FROM sessions WHERE id >= ? AND id <= ?", p, last)
}

func (w *where) marks(f *catalog.Filter) {
	one := func(m string) {
		w.add("EXISTS (SELECT 1 FROM marks m WHERE m.mark = ? AND m.deleted = s.deleted AND m.modified = s.modified AND m.id = s.id)", m)
		w.path("SELECT n FROM marks WHERE mark = ?", m)
		if !w.wide {
			c := &w.paths[len(w.paths)-1]
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

// texts selects by names and first messages. A heading has both: the name is the
// part before fieldSep.
func (w *where) texts(f *catalog.Filter, ordered catalog.Sort) {
	if f.Text != "" {
		text := folded(f.Text)
		w.add("instr(s.heading, ?) > 0", text)
		w.pathByText("", text)
	}
	for _, word := range strings.Fields(folded(f.Fuzzy)) {
		w.add(`s.heading LIKE ? ESCAPE '\'`, fuzzyPattern(word))
	}
	if f.Name == "" {
		return
	}
	name := folded(f.Name)
	if ordered == catalog.SortName {
		w.add("s.name > '' AND instr(s.name, ?) > 0", name) // the listing begins at the first row with a name
	} else {
		w.add("instr(s.heading, ?) BETWEEN 1 AND instr(s.heading, char(31))", name)
	}
	w.pathByText("name", name)
}

// fuzzyPattern is the pattern of texts with the characters of word in their order.
func fuzzyPattern(word string) string {
	var b strings.Builder
	for _, r := range word {
		b.WriteByte('%')
		if r == '%' || r == '_' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String() + "%"
}

// maxFuzzy limits the bytes of a fuzzy search: its time grows with each character.
const maxFuzzy = 64

// pathByText adds the access path by a part of a name or first message.
func (w *where) pathByText(column, text string) {
	gs := trigrams(text)
	if len(gs) == 0 {
		return // too short for a trigram
	}
	w.path("SELECT rowid AS n FROM headings WHERE headings MATCH ?", matchTrigrams(column, gs))
	c := &w.paths[len(w.paths)-1]
	c.text, c.column = text, column
}

func (w *where) state(f *catalog.Filter) {
	const those = "SELECT n FROM sessions WHERE held = 1"
	switch f.State {
	case catalog.StateOpen:
		w.add("s.closed = 0")
	case catalog.StateClosed:
		w.add("s.closed = 1")
	case catalog.StateHeld:
		w.add("s.held = 1")
		w.path(those)
	case catalog.StateInterrupted:
		w.path(those)
		w.interrupted(f.Silence)
	}
}

// interrupted selects open sessions that are held by a writer that is not alive.
func (w *where) interrupted(q *catalog.Silence) {
	if q == nil {
		q = &catalog.Silence{Since: time.Now()}
	}
	alive := make([]string, len(q.Alive))
	for i, h := range q.Alive {
		alive[i] = string(h.Session) + fieldSep + clean(h.Head) + fieldSep + clean(h.Writer)
	}
	list, _ := json.Marshal(alive) // never fails for strings
	w.add(`s.held = 1 AND s.closed = 0 AND EXISTS (SELECT 1 FROM holders h WHERE h.n = s.n AND h.since <= ?
		AND s.id || char(31) || h.head || char(31) || h.writer NOT IN (SELECT value FROM json_each(?)))`, q.Since.UnixMilli(), string(list))
}

func (w *where) ranges(f *catalog.Filter, ordered catalog.Sort, deleted int) {
	ms := func(r catalog.Range[time.Time]) (from, to any) {
		if r.From != nil {
			from = r.From.UnixMilli()
		}
		if r.To != nil {
			to = r.To.UnixMilli()
		}
		return from, to
	}
	span := func(column catalog.Sort, from, to any) {
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
		if column != ordered { // else it bounds the listing's own walk
			w.pathAlong("by_"+string(column), cond, args...)
		}
	}
	from, to := ms(f.Modified)
	span(catalog.SortModified, from, to)
	from, to = ms(f.Created)
	span(catalog.SortCreated, from, to)
	from, to = bounds(f.Size)
	span(catalog.SortSize, from, to)
	from, to = bounds(f.Cost)
	span(catalog.SortCost, from, to)
}

func bounds[T any](r catalog.Range[T]) (from, to any) {
	if r.From != nil {
		from = *r.From
	}
	if r.To != nil {
		to = *r.To
	}
	return from, to
}
