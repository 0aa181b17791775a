package index

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// Search returns the entries that have q's words, newest first. q.Limit must be 1 or
// more. It returns core.ErrInvalid if q is not valid.
func (x *Index) Search(ctx context.Context, q catalog.SearchQuery) (catalog.SearchPage, error) {
	page := catalog.SearchPage{Hits: []catalog.Hit{}}
	terms, err := parseQuery(q.Text)
	if err != nil {
		return page, err
	}
	w, err := conditionsOf(&q.Sessions, "")
	if err != nil {
		return page, err
	}
	err = x.read(ctx, "the search", func(ctx context.Context, tx *sql.Tx) error {
		scope, err := searchScope(ctx, tx, &q, w)
		if err != nil {
			return err
		}
		query, args, err := searchOf(&q, w, terms, scope)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		last := int64(0)
		for rows.Next() {
			if len(page.Hits) == q.Limit {
				page.Next = strconv.FormatInt(last, 36)
				return nil
			}
			var h catalog.Hit
			var text string
			if err := rows.Scan(&last, &h.Session, &h.Entry, &h.Kind, &text, &h.Dialect, &h.CWD, &h.Name); err != nil {
				return err
			}
			if ms := timeOf(last); ms > 0 {
				h.Time = time.UnixMilli(ms).UTC().Format(time.RFC3339)
			}
			h.Snippet = snippet(text, terms)
			h.Matches = matches(h.Snippet, terms)
			page.Hits = append(page.Hits, h)
		}
		return rows.Err()
	})
	return page, err
}

// searchOf returns the SQL of a search. FTS5 yields texts from the newest on, and
// each is checked against the other conditions until the page is full.
func searchOf(q *catalog.SearchQuery, w *where, terms []term, scope string) (string, []any, error) {
	match := "text : (" + matchTerms(terms) + ")"
	if scope != "" {
		match += " AND scope : (" + scope + ")"
	}
	first := []string{"words MATCH ?"}
	args := []any{match}
	bound := func(op string, id int64) {
		first = append(first, "words.rowid "+op+" ?")
		args = append(args, id)
	}
	if q.Time.From != nil {
		bound(">=", firstID(*q.Time.From))
	}
	if q.Time.To != nil {
		bound("<", firstID(q.Time.To.Add(time.Second)))
	}
	if q.Before != "" {
		id, err := strconv.ParseInt(q.Before, 36, 64)
		if err != nil || id < 0 {
			return "", nil, fmt.Errorf("before: %q is not the next value of a page: %w", q.Before[:min(len(q.Before), 80)], core.ErrInvalid)
		}
		bound("<", id)
	}
	if q.Session != "" {
		w.add("+s.id = ?", string(q.Session))
	}
	return `SELECT d.id, s.id, d.entry, d.kind, d.text, s.dialect, s.cwd, coalesce(r.row ->> 'name', '')
		FROM words CROSS JOIN docs d ON d.id = words.rowid CROSS JOIN sessions s NOT INDEXED ON s.n = d.n CROSS JOIN details r ON r.n = d.n
		WHERE ` + strings.Join(first, " AND ") + ` AND ` + w.String() + ` ORDER BY words.rowid DESC LIMIT ?`,
		append(append(args, w.args...), q.Limit+1), nil
}

// firstID returns the lowest id of a text of t's second.
func firstID(t time.Time) int64 { return min(max(t.Unix(), 0), maxTime) << idBits }

// fewSessions limits how many sessions are passed to FTS5 one by one.
const fewSessions = 64

// searchScope returns the conditions that FTS5 can narrow by. If another condition
// leaves few sessions, these are listed.
func searchScope(ctx context.Context, tx *sql.Tx, q *catalog.SearchQuery, w *where) (string, error) {
	f := &q.Sessions
	var scope []string
	if q.Session != "" {
		scope = append(scope, sessionWord(string(q.Session)))
	}
	if f.Dialect != "" {
		scope = append(scope, dialectWord(clean(f.Dialect)))
	}
	if ds := dirs(clean(materializer.Clip(f.CWD))); len(ds) > 0 {
		scope = append(scope, dirWord(ds[len(ds)-1]))
	}
	for _, tag := range f.Tags {
		scope = append(scope, tagWord(mark(tagMark, tag)))
	}
	for _, p := range w.paths {
		few, err := sessionsOf(ctx, tx, p)
		if err != nil {
			return "", err
		}
		if few != "" {
			scope = append(scope, few)
		}
	}
	return strings.Join(scope, " AND "), nil
}

// sessionsOf lists the sessions of an access path, or returns "" if there are many.
func sessionsOf(ctx context.Context, tx *sql.Tx, c accessPath) (string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT s.id FROM (`+c.query+`) AS c CROSS JOIN sessions s ON s.n = c.n LIMIT ?`, append(slices.Clone(c.args), fewSessions+1)...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return "", err
		}
		ids = append(ids, sessionWord(id))
	}
	if len(ids) > fewSessions || rows.Err() != nil {
		return "", rows.Err()
	}
	if len(ids) == 0 {
		return sessionWord(""), nil // which no text has
	}
	return "(" + strings.Join(ids, " OR ") + ")", nil
}
