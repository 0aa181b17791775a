package jsjson

import (
	"math"
	"strconv"
)

// number returns the text of the next number.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	switch {
	case s.at('0'):
		s.pos++
	case s.digits() == 0:
		return nil, s.fail("no value")
	}
	if s.at('.') {
		s.pos++
		if s.digits() == 0 {
			return nil, s.fail("no digit after the point")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.fail("no digit in the exponent")
		}
	}
	return s.src[start:s.pos], nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.src) && s.src[s.pos] == c }

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.src) && isDigit(s.src[s.pos]) {
		s.pos++
	}
	return s.pos - start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendNumber appends a number literal as JavaScript would write its value.
func appendNumber(dst, lit []byte) []byte {
	if isShortInt(lit) {
		return append(dst, lit...)
	}
	f, _ := strconv.ParseFloat(string(lit), 64) // out of range: ±Inf
	return AppendNumber(dst, f)
}

// isShortInt reports whether lit is a whole number that every double keeps.
func isShortInt(lit []byte) bool {
	if len(lit) > 15 || len(lit) > 1 && lit[0] == '-' && lit[1] == '0' {
		return false
	}
	for i, c := range lit {
		if !isDigit(c) && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}

// AppendNumber appends f as JSON.stringify writes a number: the shortest digits
// that read back as f, or null if f is not finite.
func AppendNumber(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if f == 0 {
		return append(dst, '0') // -0 too
	}
	if a := math.Abs(f); 1e-6 <= a && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes e-07, JavaScript writes e-7.
	if n := len(dst); n-start > 4 && dst[n-2] == '0' && !isDigit(dst[n-3]) {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
