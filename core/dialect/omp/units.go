package omp

import (
	"unicode/utf8"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// JavaScript counts UTF-16 units. Here they are counted in the text of a string
// as JSON.stringify writes it: characters above U+FFFF have two units, and a
// lone surrogate is an escape of one.

// atLeast reports whether the string has n units or more.
func atLeast(text jsjson.Value, n int) bool {
	if len(text)-2 < n { // no unit is shorter than a byte
		return false
	}
	units := 0
	for at := 1; at < len(text)-1 && units < n; {
		size, u := unitsAt(text, at)
		at, units = at+size, units+u
	}
	return units >= n
}

// cutAt returns the position in text after the first n units of the string, or
// after n-1 if unit n is the first half of a pair.
func cutAt(text jsjson.Value, n int) int {
	at, last := 1, 1
	for units := 0; at < len(text)-1; {
		size, u := unitsAt(text, at)
		if units += u; units > n {
			break
		}
		last, at = at, at+size
	}
	if isHighHalf(text[last:at]) {
		return last
	}
	return at
}

// unitsAt returns how many bytes the character at the place at has, and how
// many units.
func unitsAt(text []byte, at int) (size, units int) {
	switch c := text[at]; {
	case c == '\\' && text[at+1] == 'u':
		return 6, 1
	case c == '\\':
		return 2, 1
	case c < utf8.RuneSelf:
		return 1, 1
	}
	r, size := utf8.DecodeRune(text[at:])
	if r > 0xFFFF {
		return size, 2
	}
	return size, 1
}

// isHighHalf reports whether c is the escape of a high surrogate.
func isHighHalf(c []byte) bool {
	return len(c) == 6 && c[0] == '\\' && c[1] == 'u' && (c[2] == 'd' || c[2] == 'D') &&
		(c[3] == '8' || c[3] == '9' || c[3]|0x20 == 'a' || c[3]|0x20 == 'b')
}
