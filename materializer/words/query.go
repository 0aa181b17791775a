package words

import (
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// Bounds of a query.
const (
	maxQuery = 1 << 10 // bytes
	maxTerms = 32
)

// Parse reads a query: words, all of which a text must have. Between double
// quotes it is a phrase, whose words follow each other; a word with punctuation
// in it is one, too. A word with * behind it is the beginning of one. Everything
// else that is neither letter nor digit means nothing. core.ErrInvalid says what
// is wrong with a query: a quote without an end, nothing to search for, or too
// much of it.
func Parse(query string) ([]Term, error) {
	if len(query) > maxQuery {
		return nil, fmt.Errorf("the query has %d bytes, at most %d are possible: %w", len(query), maxQuery, core.ErrInvalid)
	}
	var terms []Term
	for rest := strings.TrimSpace(Clean(query)); rest != ""; rest = strings.TrimSpace(rest) {
		var t Term
		var ok bool
		if t, rest, ok = cutTerm(rest); !ok {
			return nil, fmt.Errorf("the query %q has a double quote without an end; close the phrase, or leave the quote out: %w", query, core.ErrInvalid)
		}
		if strings.ContainsFunc(t.Text, IsWord) {
			terms = append(terms, t)
		}
	}
	switch {
	case len(terms) == 0:
		return nil, fmt.Errorf("the query %q has no letter and no digit to search for: %w", query, core.ErrInvalid)
	case len(terms) > maxTerms:
		return nil, fmt.Errorf("the query has %d words and phrases, at most %d are possible: %w", len(terms), maxTerms, core.ErrInvalid)
	}
	return terms, nil
}

// cutTerm takes the first term from a query that does not begin with a blank.
func cutTerm(s string) (t Term, rest string, ok bool) {
	if s[0] != '"' {
		end := strings.IndexFunc(s, func(r rune) bool { return r == '"' || isBlank(r) })
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], "*")
		return Term{word, len(word) < end}, s[end:], true
	}
	text, rest, ok := strings.Cut(s[1:], `"`)
	more := strings.TrimLeft(rest, "*")
	return Term{text, len(more) < len(rest)}, more, ok
}

func isBlank(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f\u0085\u00A0", r) }

// Match is terms as an expression of the engine: each is a string of its own, so
// that nothing in it is an operator.
func Match(terms []Term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(`"` + strings.ReplaceAll(Spaced(t.Text), `"`, `""`) + `"`)
		if t.Prefix {
			b.WriteString("*")
		}
	}
	return b.String()
}
