package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marked returns plain text in the columns that remain after used ones, so that the
// first of words is visible, and underlines words.
func (s Screen) Marked(text string, words []string, used int) string {
	if s.Width > 0 {
		text = around(text, words, max(s.Width-used, 16))
	}
	var b strings.Builder
	for text != "" {
		at, word := firstOf(text, words)
		if at < 0 {
			break
		}
		b.WriteString(text[:at] + s.Paint(Underline, word))
		text = text[at+len(word):]
	}
	return b.String() + text
}

// around cuts text to n columns. If none of words is within them, it begins before
// the first one.
func around(text string, words []string, n int) string {
	at, word := firstOf(text, words)
	if at >= 0 && Columns(text[:at+len(word)]) > n-1 {
		begin := at
		for room := n / 3; room > 0 && begin > 0; room-- {
			_, size := utf8.DecodeLastRuneInString(text[:begin])
			begin -= size
		}
		text = "…" + strings.TrimLeft(text[begin:], " ")
	}
	return Cut(text, n)
}

// firstOf returns the first of words in text, the longest one at a place, and where
// it is: -1 if there is none.
func firstOf(text string, words []string) (at int, word string) {
	at = -1
	for _, w := range words {
		i := indexWord(text, w)
		if i >= 0 && (at < 0 || i < at || i == at && len(w) > len(word)) {
			at, word = i, w
		}
	}
	return at, word
}

// indexWord returns the place of word in text, -1 if there is none. A word in ASCII
// letters is not a part of another.
func indexWord(text, word string) int {
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if word[0] >= utf8.RuneSelf || !isWord(before) && !isWord(after) {
			return i
		}
		from = i + len(word)
	}
	return -1
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
