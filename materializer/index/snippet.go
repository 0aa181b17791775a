package index

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/sesslog/sesslog/session/catalog"
)

// Size of a snippet in bytes: before the word that was found, and in total.
const (
	snippetBefore = 40
	snippetSize   = 160
)

// snippet returns the part of text around the first word that begins a term. FTS5's
// own snippet function takes time quadratic in the number of matches.
func snippet(text string, terms []term) string {
	var begins []term
	for _, t := range terms {
		if ts := tokens(t.Text, 2); len(ts) > 0 {
			begins = append(begins, term{ts[0].fold(), t.Prefix && len(ts) == 1})
		}
	}
	for from := 0; from < len(text); {
		some := tokens(text[from:], 64)
		if len(some) == 0 {
			break
		}
		for _, t := range some {
			if isAny(t.fold(), begins) {
				return cutAround(text, from+t.at)
			}
		}
		end := some[len(some)-1]
		from += end.at + len(end.text)
	}
	return cutAround(text, 0)
}

// matches returns the words of text that are in a term: where each begins and ends.
func matches(text string, terms []term) (at []catalog.Span) {
	var words []term
	for _, t := range terms {
		ts := tokens(t.Text, 0)
		for i, w := range ts {
			words = append(words, term{w.fold(), t.Prefix && i == len(ts)-1})
		}
	}
	for _, t := range tokens(text, 0) {
		if isAny(t.fold(), words) {
			at = append(at, catalog.Span{From: t.at, To: t.at + len(t.text)})
		}
	}
	return at
}

// isAny reports whether word matches one of terms.
func isAny(word string, terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool {
		return word == t.Text || t.Prefix && strings.HasPrefix(word, t.Text)
	})
}

// A token is a word and its offset.
type token struct {
	at   int
	text string
}

// fold returns the word without case and accents, about as FTS5 compares it.
func (t token) fold() string {
	plain := true
	for i := range len(t.text) {
		plain = plain && t.text[i] < 0x80
	}
	if plain {
		return strings.ToLower(t.text)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(t.text))
}

// tokens returns the first n words of s, or all if n is 0. A letter of a script
// without spaces is a word.
func tokens(s string, n int) []token {
	var ts []token
	begin := -1
	flush := func(end int) {
		if begin >= 0 {
			ts = append(ts, token{begin, s[begin:end]})
			begin = -1
		}
	}
	single := false
	for i, r := range s {
		mark := unicode.Is(unicode.M, r)
		if begin >= 0 && (single && !mark || !mark && !isWord(r)) {
			flush(i)
			if n > 0 && len(ts) == n {
				return ts
			}
		}
		if isUnspaced(r) {
			flush(i)
			begin, single = i, true
		} else if begin < 0 && isWord(r) {
			begin, single = i, false
		}
	}
	flush(len(s))
	return ts
}

// cutAround cuts text to a snippet that has the byte at, between characters.
func cutAround(text string, at int) string {
	from, to := max(0, at-snippetBefore), min(len(text), at-snippetBefore+snippetSize)
	if from == 0 {
		to = min(len(text), snippetSize)
	}
	if from > 0 { // begin at a word if there is a space
		if i := strings.IndexAny(text[from:at], " \t\n"); i >= 0 {
			from += i + 1
		}
	}
	s := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}
