package jsonl

import (
	"bytes"
	"strings"
)

// EscapeSeparators returns text, which is JSON, with U+0085, U+2028 and U+2029 as
// escapes, or text itself if it has none. Agents in Python that use str.splitlines
// end a line at these characters, and lose it.
func EscapeSeparators(text []byte) []byte {
	for _, c := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(text, []byte(c)) {
			return []byte(separators.Replace(string(text)))
		}
	}
	return text
}

var separators = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)
