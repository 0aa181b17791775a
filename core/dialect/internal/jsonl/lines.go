package jsonl

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// ByteOrderMark is what some editors begin a file with.
var ByteOrderMark = []byte("\uFEFF")

// ErrMarked says that a file begins with ByteOrderMark, which its agent does not
// expect.
var ErrMarked = fmt.Errorf("it begins with a byte order mark: %w", core.ErrInvalid)

// Numbered yields the lines of body, numbered from 1. Text after the last "\n"
// is a line unless it is empty.
func Numbered(body []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		for n := 1; len(body) > 0; n++ {
			line, rest, _ := bytes.Cut(body, []byte("\n"))
			if !yield(n, line[:len(line):len(line)]) {
				return
			}
			body = rest
		}
	}
}

// CountUpTo is how many lines to make room for before reading body: as many as
// there are, but no more than entries of the usual length would be. What that
// takes is in proportion to body, whatever is in it.
func CountUpTo(body []byte) int {
	const usual = 128
	return min(bytes.Count(body, []byte("\n")), len(body)/usual) + 1
}

// IsBlank reports whether line is nothing but what JavaScript takes for white
// space.
func IsBlank(line []byte) bool {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if !IsSpace(r) {
			return false
		}
		line = line[n:]
	}
	return true
}

// IsSpace reports whether String.prototype.trim would take r away.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}

// Trim is String.prototype.trim.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }
