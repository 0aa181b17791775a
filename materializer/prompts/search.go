package prompts

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
	"github.com/sesslog/sesslog/materializer/internal/sqlitefile"
	"github.com/sesslog/sesslog/materializer/words"
)

// Bounds of a query and of its answer.
const (
	maxText  = 1 << 10 // bytes of the words
	maxWords = 32
	maxPage  = 8 << 20 // bytes of the prompts
)

// searchWait is how long a search waits for what was noted before it.
const searchWait = 2 * time.Second

// searchTime is how long it may take then.
const searchTime = 30 * time.Second

// Search returns the prompts that q asks for, newest first. q.Limit must be 1 or
// more. core.ErrInvalid where q's text has nothing to search for, or Before is
// none of ours; core.ErrUnavailable while the file is made again.
func (h *History) Search(ctx context.Context, q materializer.PromptQuery) (materializer.PromptPage, error) {
	query, args, err := statement(q)
	if err != nil {
		return materializer.PromptPage{}, err
	}
	h.await(ctx)
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	h.file.RLock()
	defer h.file.RUnlock()
	rows, err := h.db.QueryContext(ctx, query, args...)
	if err == nil {
		defer rows.Close()
		var page materializer.PromptPage
		if page, err = readPage(rows, q); err == nil {
			page.Behind = h.Behind()
			return page, nil
		}
	}
	if ctx.Err() != nil {
		return materializer.PromptPage{}, fmt.Errorf("search of the prompt history: %w: %w", ctx.Err(), core.ErrUnavailable)
	}
	if sqlitefile.IsCorrupt(err) {
		h.report(err)
	}
	return materializer.PromptPage{}, fmt.Errorf("the prompt history cannot be read: %v: %w", err, core.ErrUnavailable)
}

func (h *History) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	_ = h.CatchUp(ctx) // the page says how far behind it is
}

// statement makes the SQL of a query.
func statement(q materializer.PromptQuery) (string, []any, error) {
	var conds []string
	var args []any
	from := "prompts p"
	add := func(cond string, arg ...any) {
		conds = append(conds, cond)
		args = append(args, arg...)
	}
	if q.Text != "" {
		match, err := matchOf(q.Text)
		if err != nil {
			return "", nil, err
		}
		from = "words CROSS JOIN prompts p ON p.id = words.rowid" // the index first
		add("words MATCH ?", match)
	}
	if q.CWD != "" {
		add("p.cwd = ?", bound(q.CWD))
	}
	if q.Dialect != "" {
		add("p.dialect = ?", q.Dialect)
	}
	if q.Session != "" {
		add("p.session = ?", string(q.Session))
	} else {
		add(notCopied)
	}
	if q.Before != "" {
		b, err := parsePlace(q.Before)
		if err != nil {
			return "", nil, err
		}
		add("(p.created_at, p.session, p.place, p.part) < (?, ?, ?, ?)", b.created, b.session, b.place, b.part)
	}
	where := ""
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	return `SELECT p.session, p.entry, p.dialect, p.host, p.cwd, p.created_at, p.place, p.part, p.prompt, p.cut FROM ` + from + where +
		` ORDER BY p.created_at DESC, p.session DESC, p.place DESC, p.part DESC LIMIT ?`, append(args, q.Limit+1), nil
}

// notCopied leaves out what a fork has from the session it was made of: the same
// entry, given at the same time. Of all that have it, the session whose id is
// the first is shown.
const notCopied = `NOT EXISTS (SELECT 1 FROM prompts o
	WHERE o.created_at = p.created_at AND o.session < p.session AND o.entry = p.entry AND o.entry <> ''
	AND o.dialect = p.dialect AND o.cwd = p.cwd AND o.prompt = p.prompt)`

// matchOf makes an FTS5 expression of words: each a string of its own, so that
// nothing in it is an operator; the last a prefix. A word with punctuation in it
// is a phrase.
func matchOf(text string) (string, error) {
	if len(text) > maxText {
		return "", fmt.Errorf("the words to search for have %d bytes, at most %d are possible: %w", len(text), maxText, core.ErrInvalid)
	}
	found := wordsOf(text)
	if len(found) == 0 {
		return "", fmt.Errorf("%q has no letter and no digit to search for: %w", text, core.ErrInvalid)
	}
	if len(found) > maxWords {
		return "", fmt.Errorf("%d words to search for, at most %d are possible: %w", len(found), maxWords, core.ErrInvalid)
	}
	for i, w := range found {
		found[i] = `"` + strings.ReplaceAll(words.Spaced(w), `"`, `""`) + `"`
	}
	return strings.Join(found, " ") + "*", nil
}

// wordsOf returns what of a query's text is between blanks and can be found.
func wordsOf(text string) []string {
	return slices.DeleteFunc(strings.Fields(words.Clean(text)), func(w string) bool { return !strings.ContainsFunc(w, words.IsWord) })
}

// termsOf is wordsOf for a snippet.
func termsOf(text string) []words.Term {
	var ts []words.Term
	for _, w := range wordsOf(text) {
		ts = append(ts, words.Term{Text: w})
	}
	if len(ts) > 0 {
		ts[len(ts)-1].Prefix = true
	}
	return ts
}

func readPage(rows *sql.Rows, q materializer.PromptQuery) (materializer.PromptPage, error) {
	page := materializer.PromptPage{Prompts: []materializer.Prompt{}}
	terms := termsOf(q.Text)
	size := 0
	var last place
	for rows.Next() {
		if len(page.Prompts) == q.Limit || size > maxPage {
			page.Next = last.String()
			return page, nil
		}
		var p materializer.Prompt
		if err := rows.Scan(&p.Session, &p.Entry, &p.Dialect, &p.Host, &p.CWD,
			&last.created, &last.place, &last.part, &p.Prompt, &p.Cut); err != nil {
			return page, err
		}
		last.session = string(p.Session)
		p.Time = isoTime(last.created)
		if len(terms) > 0 {
			p.Snippet = words.Snippet(p.Prompt, terms)
		}
		page.Prompts = append(page.Prompts, p)
		size += len(p.Prompt)
	}
	return page, rows.Err()
}

// A place is where a prompt is in the order of all of them.
type place struct {
	created     int64
	place, part int
	session     string
}

func (p place) String() string {
	return fmt.Sprintf("%d.%d.%d.%s", p.created, p.place, p.part, p.session)
}

func parsePlace(s string) (p place, err error) {
	parts := strings.SplitN(s, ".", 4)
	if len(parts) == 4 {
		p.session = parts[3]
		var errs [3]error
		p.created, errs[0] = strconv.ParseInt(parts[0], 10, 64)
		p.place, errs[1] = strconv.Atoi(parts[1])
		p.part, errs[2] = strconv.Atoi(parts[2])
		if errs == [3]error{} && p.String() == s {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("before %q is not the next of a page: %w", s[:min(len(s), 80)], core.ErrInvalid)
}
