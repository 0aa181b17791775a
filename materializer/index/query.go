package index

import (
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// Limits of a query.
const (
	maxQuery = 1 << 10 // bytes
	maxTerms = 32
)

// A term is a word of a query, or a phrase. With Prefix it is the beginning of one.
type term struct {
	Text   string
	Prefix bool
}

// parseQuery parses the query of a search. A text matches if it has all terms: a
// term is a word, a phrase between double quotes, or either with a * after it. A
// word with punctuation in it is a phrase, too. Other characters mean nothing. It
// returns core.ErrInvalid if a quote is not closed, or if the query has no word or
// too many.
func parseQuery(query string) ([]term, error) {
	if err := checkLength(query); err != nil {
		return nil, err
	}
	var terms []term
	for rest := strings.TrimSpace(clean(query)); rest != ""; rest = strings.TrimSpace(rest) {
		var t term
		var ok bool
		if t, rest, ok = cutTerm(rest); !ok {
			return nil, fmt.Errorf("the query %q has an unclosed double quote: close or remove it: %w", query, core.ErrInvalid)
		}
		if strings.ContainsFunc(t.Text, isWord) {
			terms = append(terms, t)
		}
	}
	return terms, checkTerms(query, terms)
}

// parseWords parses the query of the prompt history: words, of which the last may
// be the beginning of one. Nothing in it is an operator. It returns
// core.ErrInvalid if the query has no word or too many.
func parseWords(query string) ([]term, error) {
	if err := checkLength(query); err != nil {
		return nil, err
	}
	var terms []term
	for _, word := range strings.Fields(clean(query)) {
		if strings.ContainsFunc(word, isWord) {
			terms = append(terms, term{Text: word})
		}
	}
	if len(terms) > 0 {
		terms[len(terms)-1].Prefix = true
	}
	return terms, checkTerms(query, terms)
}

func checkLength(query string) error {
	if len(query) > maxQuery {
		return fmt.Errorf("the query has %d bytes, the limit is %d: %w", len(query), maxQuery, core.ErrInvalid)
	}
	return nil
}

func checkTerms(query string, terms []term) error {
	switch {
	case len(terms) == 0:
		return fmt.Errorf("the query %q has no letter and no digit to search for: %w", query, core.ErrInvalid)
	case len(terms) > maxTerms:
		return fmt.Errorf("the query has %d words and phrases, the limit is %d: %w", len(terms), maxTerms, core.ErrInvalid)
	}
	return nil
}

// cutTerm cuts the first term off a query that does not begin with a space. ok is
// false if its quote is not closed.
func cutTerm(s string) (t term, rest string, ok bool) {
	if s[0] != '"' {
		end := strings.IndexFunc(s, func(r rune) bool { return r == '"' || isBlank(r) })
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], "*")
		return term{word, len(word) < end}, s[end:], true
	}
	text, rest, ok := strings.Cut(s[1:], `"`)
	more := strings.TrimLeft(rest, "*")
	return term{text, len(more) < len(rest)}, more, ok
}

func isBlank(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f\u0085\u00A0", r) }

// matchTerms returns terms as an FTS5 expression. Each is a quoted string, so that
// nothing in it is an operator.
func matchTerms(terms []term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(`"` + strings.ReplaceAll(spaced(t.Text), `"`, `""`) + `"`)
		if t.Prefix {
			b.WriteString("*")
		}
	}
	return b.String()
}
