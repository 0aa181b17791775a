package jsjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	replacement = "\uFFFD"
	lowerHex    = "0123456789abcdef"
)

// plain are the ASCII bytes that need no escape in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// stop are the bytes that end a run in a string: control characters, quotes and
// backslashes.
var stop = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// short are the letters of the escapes that JSON.stringify writes too.
var short = [256]bool{'"': true, '\\': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipString reads a string.
func (s *scanner) skipString() error {
	b, i := s.src, s.pos+1
	for i < len(b) {
		if i+8 <= len(b) {
			m := stops(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
		} else if !stop[b[i]] {
			i++
			continue
		}
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\' && i+1 < len(b) && short[b[i+1]]:
			i += 2
		case c == '\\':
			s.pos = i
			if _, err := s.escape(); err != nil {
				return err
			}
			i = s.pos
		default:
			s.pos = i
			return s.fail("a control character in a string")
		}
	}
	s.pos = len(b)
	return s.fail("a string without an end")
}

// appendString reads a string and appends it as JavaScript would write it.
func (s *scanner) appendString(dst []byte) ([]byte, error) {
	start := s.pos // of the text to copy unchanged
	for s.pos++; s.pos < len(s.src); {
		rest := s.src[s.pos:]
		n := plainLen(rest)
		if s.pos += n; n == len(rest) {
			break
		}
		switch c := rest[n]; {
		case c == '"':
			s.pos++
			return append(dst, s.src[start:s.pos]...), nil
		case c >= 0x80:
			if _, n := utf8.DecodeRune(s.src[s.pos:]); n > 1 {
				s.pos += n
				continue
			}
			dst = append(append(dst, s.src[start:s.pos]...), replacement...)
			s.pos += badLen(s.src[s.pos:])
			start = s.pos
		case c == '\\' && n+1 < len(rest) && short[rest[n+1]]:
			s.pos += 2
		case c == '\\':
			dst = append(dst, s.src[start:s.pos]...)
			u, err := s.escape()
			if err != nil {
				return nil, err
			}
			dst = appendUnit(dst, s.pair(u))
			start = s.pos
		default:
			return nil, s.fail("a control character in a string")
		}
	}
	return nil, s.fail("a string without an end")
}

// escape reads an escape and returns its UTF-16 unit.
func (s *scanner) escape() (rune, error) {
	if s.pos+1 >= len(s.src) {
		return 0, s.fail("a string without an end")
	}
	c := s.src[s.pos+1]
	if c == 'u' {
		u, ok := hex4(s.src[s.pos+2:])
		if !ok {
			return 0, s.fail("no four hex digits")
		}
		s.pos += 6
		return u, nil
	}
	u := unescaped(c)
	if u < 0 {
		return 0, s.fail("an unknown escape")
	}
	s.pos += 2
	return u, nil
}

// pair returns the character that u and the next escape encode together, and
// reads that escape. Otherwise it returns u.
func (s *scanner) pair(u rune) rune {
	rest := s.src[s.pos:]
	if !utf16.IsSurrogate(u) || len(rest) < 2 || rest[0] != '\\' || rest[1] != 'u' {
		return u
	}
	low, ok := hex4(rest[2:])
	if r := utf16.DecodeRune(u, low); ok && r != utf8.RuneError {
		s.pos += 6
		return r
	}
	return u
}

func unescaped(c byte) rune {
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return -1
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var u rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			u = u<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			u = u<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			u = u<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

// appendUnit appends a character or lone surrogate as a string contains it.
func appendUnit(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\b':
		return append(dst, `\b`...)
	case r == '\f':
		return append(dst, `\f`...)
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x20 || utf16.IsSurrogate(r):
		return append(dst, '\\', 'u', lowerHex[r>>12&15], lowerHex[r>>8&15], lowerHex[r>>4&15], lowerHex[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// AppendString appends text in quotes, as JSON.stringify writes a string.
// Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, text string) []byte {
	dst = append(slices.Grow(dst, len(text)+2), '"')
	for len(text) > 0 {
		run := 0
		for run < len(text) && plain[text[run]] {
			run++
		}
		dst, text = append(dst, text[:run]...), text[run:]
		r, n := utf8.DecodeRuneInString(text)
		if n == 0 {
			break
		}
		if r == utf8.RuneError && n == 1 {
			n = badLen([]byte(text[:min(len(text), utf8.UTFMax)]))
		}
		dst = appendUnit(dst, r)
		text = text[n:]
	}
	return append(dst, '"')
}

// badLen is how many bytes at the beginning of b, which is invalid UTF-8,
// become one U+FFFD: the longest prefix of a valid character, or one byte.
func badLen(b []byte) int {
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch c := b[0]; {
	case 0xC2 <= c && c <= 0xDF:
		need = 1
	case 0xE0 <= c && c <= 0xEF:
		need = 2
	case 0xF0 <= c && c <= 0xF4:
		need = 3
	}
	switch b[0] {
	case 0xE0:
		lo = 0xA0
	case 0xED:
		hi = 0x9F
	case 0xF0:
		lo = 0x90
	case 0xF4:
		hi = 0x8F
	}
	n := 1
	for n <= need && n < len(b) && lo <= b[n] && b[n] <= hi {
		n++
		lo, hi = 0x80, 0xBF
	}
	return n
}

// Text decodes v, and reports false if it is not a string. A lone surrogate
// becomes U+FFFD.
func (v Value) Text() (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	if b, ok := v.Plain(); ok {
		return string(b), true
	}
	s := scanner{src: v}
	b, err := s.appendString(nil)
	if err != nil {
		return "", false
	}
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), true
	}
	return unquote(b), true
}

// Plain returns the text of v without decoding: if v is a string of ASCII
// without escapes, or empty if v is not a string. It reports false if Text has
// to decode v. The text shares memory with v.
func (v Value) Plain() ([]byte, bool) {
	if v.Kind() != '"' {
		return nil, true
	}
	n := plainLen(v[1:])
	if n != len(v)-2 || v[n+1] != '"' {
		return nil, false
	}
	return v[1 : n+1], true
}

// unquote decodes what appendString wrote, without its quotes.
func unquote(b []byte) string {
	text := make([]byte, 0, len(b))
	s := scanner{src: b}
	for s.pos < len(b) {
		if b[s.pos] != '\\' {
			text = append(text, b[s.pos])
			s.pos++
			continue
		}
		u, _ := s.escape()
		text = utf8.AppendRune(text, u)
	}
	return string(text)
}
