package words

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// What a snippet shows, in bytes: before the word that was found, and in all.
const (
	snippetBefore = 40
	snippetSize   = 160
)

// A Term is a word of a query, or a phrase; with Prefix, the beginning of one.
type Term struct {
	Text   string
	Prefix bool
}

// Snippet returns what is around the first word of text that is the first of a
// term. SQLite's own takes time that grows with the square of the matches.
func Snippet(text string, terms []Term) string {
	var begins []Term
	for _, t := range terms {
		if ts := tokens(t.Text, 2); len(ts) > 0 {
			begins = append(begins, Term{ts[0].fold(), t.Prefix && len(ts) == 1})
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

// isAny reports whether word is one of terms.
func isAny(word string, terms []Term) bool {
	return slices.ContainsFunc(terms, func(t Term) bool {
		return word == t.Text || t.Prefix && strings.HasPrefix(word, t.Text)
	})
}

// A token is a word and where it begins.
type token struct {
	at   int
	text string
}

// fold returns the word as the index compares it, or nearly so.
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

// tokens returns the words of s, at most n of them where n is not 0. A letter of
// a script without blanks is a word.
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
		if begin >= 0 && (single && !mark || !mark && !IsWord(r)) {
			flush(i)
			if n > 0 && len(ts) == n {
				return ts
			}
		}
		if isUnbroken(r) {
			flush(i)
			begin, single = i, true
		} else if begin < 0 && IsWord(r) {
			begin, single = i, false
		}
	}
	flush(len(s))
	return ts
}

// cutAround cuts text to a snippet with the byte at in it, between characters.
func cutAround(text string, at int) string {
	from, to := max(0, at-snippetBefore), min(len(text), at-snippetBefore+snippetSize)
	if from == 0 {
		to = min(len(text), snippetSize)
	}
	if from > 0 { // not within a word, where there is a blank
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
