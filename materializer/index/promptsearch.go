package index

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// maxPromptPage limits the bytes of the prompts on a page.
const maxPromptPage = 8 << 20

// Prompts returns the prompts that q asks for, newest first. q.Limit must be 1 or
// more. It returns core.ErrInvalid if q.Text has nothing to search for or q.Before
// is not the Next of a page.
func (x *Index) Prompts(ctx context.Context, q catalog.PromptQuery) (catalog.PromptPage, error) {
	page := catalog.PromptPage{Prompts: []catalog.Prompt{}}
	var terms []term
	var err error
	if q.Text != "" {
		if terms, err = parseWords(q.Text); err != nil {
			return page, err
		}
	}
	query, args, err := promptQuery(&q, terms)
	if err != nil {
		return page, err
	}
	err = x.read(ctx, "the search of prompts", func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return readPrompts(rows, q.Limit, terms, &page)
	})
	return page, err
}

// promptQuery returns the SQL of q.
func promptQuery(q *catalog.PromptQuery, terms []term) (string, []any, error) {
	conds := []string{"true"}
	var args []any
	add := func(cond string, arg ...any) {
		conds = append(conds, cond)
		args = append(args, arg...)
	}
	from := "prompts p"
	if len(terms) > 0 {
		from = "prompt_words CROSS JOIN prompts p ON p.id = prompt_words.rowid" // the full-text index first
		add("prompt_words MATCH ?", matchTerms(terms))
	}
	if q.CWD != "" {
		add("p.cwd = ?", clean(materializer.Clip(q.CWD)))
	}
	if q.Dialect != "" {
		add("p.dialect = ?", clean(q.Dialect))
	}
	if q.Session != "" {
		add("p.session = ?", string(q.Session))
	} else {
		add(notCopied)
	}
	if q.Before != "" {
		c, err := parsePromptCursor(q.Before)
		if err != nil {
			return "", nil, err
		}
		add("(p.created, p.session, p.place, p.part) < (?, ?, ?, ?)", c.created, c.session, c.place, c.part)
	}
	return `SELECT p.session, p.entry, p.dialect, p.host, p.cwd, p.created, p.place, p.part, p.text, p.cut FROM ` + from +
		` WHERE ` + strings.Join(conds, " AND ") +
		` ORDER BY p.created DESC, p.session DESC, p.place DESC, p.part DESC LIMIT ?`, append(args, q.Limit+1), nil
}

// notCopied leaves out the prompts that a fork shares with its parent: the same
// entry with the same text and time. Of all sessions that have it, the one with the
// lowest id is shown.
const notCopied = `NOT EXISTS (SELECT 1 FROM prompts o
	WHERE o.created = p.created AND o.session < p.session AND o.entry = p.entry AND o.entry <> ''
	AND o.dialect = p.dialect AND o.cwd = p.cwd AND o.text = p.text)`

// readPrompts fills a page.
func readPrompts(rows *sql.Rows, limit int, terms []term, page *catalog.PromptPage) error {
	size := 0
	var last promptCursor
	for rows.Next() {
		if len(page.Prompts) == limit || size > maxPromptPage {
			page.Next = last.String()
			return nil
		}
		var p catalog.Prompt
		if err := rows.Scan(&p.Session, &p.Entry, &p.Dialect, &p.Host, &p.CWD,
			&last.created, &last.place, &last.part, &p.Prompt, &p.Cut); err != nil {
			return err
		}
		last.session = string(p.Session)
		if last.created != 0 {
			p.Time = time.UnixMilli(last.created).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if len(terms) > 0 {
			p.Snippet = snippet(p.Prompt, terms)
			p.Matches = matches(p.Snippet, terms)
		}
		page.Prompts = append(page.Prompts, p)
		size += len(p.Prompt)
	}
	return rows.Err()
}

// A promptCursor is a position in the order of all prompts.
type promptCursor struct {
	created     int64
	place, part int
	session     string
}

func (c promptCursor) String() string {
	return fmt.Sprintf("%d.%d.%d.%s", c.created, c.place, c.part, c.session)
}

// parsePromptCursor is the inverse of promptCursor.String.
func parsePromptCursor(s string) (c promptCursor, err error) {
	parts := strings.SplitN(s, ".", 4)
	if len(parts) == 4 {
		c.session = parts[3]
		var errs [3]error
		c.created, errs[0] = strconv.ParseInt(parts[0], 10, 64)
		c.place, errs[1] = strconv.Atoi(parts[1])
		c.part, errs[2] = strconv.Atoi(parts[2])
		if errs == [3]error{} && c.String() == s {
			return c, nil
		}
	}
	return promptCursor{}, fmt.Errorf("before: %q is not the next value of a page: %w", s[:min(len(s), 80)], core.ErrInvalid)
}
