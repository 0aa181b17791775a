package index

import (
	"strings"
	"unicode"
)

// FTS5's tokenizer ends words at characters that are neither letters nor digits. In
// scripts without spaces a word would be as long as a sentence, so each letter of
// these scripts is a word: it is set apart with an invisible character.
const separator = '\u200B'

// unspaced are the scripts that are written without spaces.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// spaced returns s as it is passed to FTS5.
func spaced(s string) string {
	if !strings.ContainsFunc(s, isUnspaced) {
		return s
	}
	var b strings.Builder
	b.Grow(2 * len(s))
	after := false // the previous rune is such a letter, or a mark on one
	for _, r := range s {
		is, mark := isUnspaced(r), unicode.Is(unicode.M, r)
		if is || after && !mark {
			b.WriteRune(separator)
		}
		b.WriteRune(r)
		after = is || after && mark
	}
	return b.String()
}

func isUnspaced(r rune) bool {
	return r >= 0x0E00 && unicode.IsLetter(r) && unicode.In(r, unspaced...)
}

// isWord reports whether r can be part of a word, by the rules of FTS5.
func isWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.Co) }

// clean replaces invalid UTF-8 and NUL, at which SQLite would end the text.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
