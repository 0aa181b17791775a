package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain makes any text safe for a terminal, in one line: white space becomes
// single spaces, and control and format characters become visible.
func Plain(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	blank := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteString(VisibleRune(r))
	}
	return b.String()
}

// PlainLines makes control and format characters of any text visible, and keeps its
// lines, tabs and spaces.
func PlainLines(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(VisibleRune(r))
		}
	}
	return b.String()
}

func isPlain(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && before == ' ' {
			return false
		}
		before = s[i]
	}
	return s == "" || before != ' '
}

// VisibleRune returns r, or the visible text for a control character.
func VisibleRune(r rune) string {
	switch {
	case r < ' ':
		return string('\u2400' + r) // the picture of that control character
	case r == 0x7F:
		return "\u2421"
	case IsControl(r):
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// IsControl reports whether r is a control or format character that a terminal can
// interpret. The two joiners are not, because several scripts need them.
func IsControl(r rune) bool {
	const zwnj, zwj = 0x200C, 0x200D
	switch {
	case r < ' ', r == 0x7F, 0x80 <= r && r < 0xA0:
		return true
	case r == zwnj, r == zwj:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// EscapeJSON returns JSON lines with control characters as escapes. Outside of
// strings, JSON only has white space of ASCII, so the values are the same.
func EscapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\n' || r == '\t':
			out = append(out, byte(r))
		case r == '\r':
		case r == utf8.RuneError && n == 1:
			out = append(out, string(utf8.RuneError)...)
		case IsControl(r) && r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		case IsControl(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}
