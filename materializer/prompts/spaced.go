package prompts

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"unicode"

	"modernc.org/sqlite"
)

// SQLite's tokenizer ends words at what is neither letter nor digit. Scripts
// that write without blanks would give words as long as a sentence, so their
// letters are set apart with a character that nobody sees.
const apart = '\u200B'

// unbroken are the scripts that write without blanks.
var unbroken = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// spaced returns s as the index is to see it.
func spaced(s string) string {
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

// The index calls spaced by this name.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("spaced", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		s, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("spaced: %T is no text", args[0])
		}
		return spaced(s), nil
	})
}
