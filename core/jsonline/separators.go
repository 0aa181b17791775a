package jsonline

import (
	"bytes"
	"strings"
)

// Agents in Python that use str.splitlines also end a line at these characters, and
// lose that line.
var (
	separators = []string{"\u0085", "\u2028", "\u2029"}
	escaped    = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)
	ended      = strings.NewReplacer("\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
)

// EscapeSeparators returns text, which is JSON, with U+0085, U+2028 and U+2029 as
// escapes, or text itself if it has none.
func EscapeSeparators(text []byte) []byte { return replaceSeparators(text, escaped) }

// EndAtSeparators returns text with U+0085, U+2028 and U+2029 replaced by ends of
// lines, or text itself if it has none.
func EndAtSeparators(text []byte) []byte { return replaceSeparators(text, ended) }

func replaceSeparators(text []byte, by *strings.Replacer) []byte {
	for _, c := range separators {
		if bytes.Contains(text, []byte(c)) {
			return []byte(by.Replace(string(text)))
		}
	}
	return text
}
