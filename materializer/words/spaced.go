package words

import (
	"strings"
	"unicode"
)

// SQLite's tokenizer ends words at what is neither letter nor digit. Scripts
// that write without blanks would give words as long as a sentence, so their
// letters are set apart with a character that nobody sees.
const apart = '\u200B'

// unbroken are the scripts that write without blanks.
var unbroken = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// Spaced returns s as the engine is to see it.
func Spaced(s string) string {
	if !strings.ContainsFunc(s, isUnbroken) {
		return s
	}
	var b strings.Builder
	b.Grow(2 * len(s))
	after := false // such a letter, or a mark on one
	for _, r := range s {
		is, mark := isUnbroken(r), unicode.Is(unicode.M, r)
		if is || after && !mark {
			b.WriteRune(apart)
		}
		b.WriteRune(r)
		after = is || after && mark
	}
	return b.String()
}

func isUnbroken(r rune) bool {
	return r >= 0x0E00 && unicode.IsLetter(r) && unicode.In(r, unbroken...)
}

// IsWord reports whether r can be part of a word, as the engine has them.
func IsWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.Co) }

// Clean returns s without what SQLite would take for its end, or for no text.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
