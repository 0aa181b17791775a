package jsjson

import "unicode/utf8"

// PickTidy reports whether src is tidy: one JSON object exactly as
// JSON.stringify writes it, in which no object has a name twice or an array
// index as a name. If so, it sets values[i] to the member called names[i], or
// to nil if there is none, and returns the name of the last member; they share
// memory with src. The names must be plain as for Value.Is.
//
// PickTidy reads src once. It may report false for a tidy value if the check
// would take too long: objects with many names, deep nesting, lone surrogates.
func PickTidy(src []byte, names []string, values []Value) (last []byte, ok bool) {
	clear(values[:len(names)])
	r := tidyReader{src: src, names: names, values: values}
	ok = len(src) > 0 && src[0] == '{' && r.object(0) == len(src)
	return r.last, ok
}

// isTidy reports whether src is one JSON value exactly as JSON.stringify writes
// it, by the rules of PickTidy.
func isTidy(src []byte) bool {
	r := tidyReader{src: src}
	return r.value(0) == len(src)
}

// A tidyReader checks whether text is tidy. Its methods take the position to
// read at and return the position after what they read, or untidy.
type tidyReader struct {
	src    []byte
	depth  int
	names  []string // members of the outermost object to pick
	values []Value
	last   []byte                       // the name of the outermost object's member read last
	known  [64]struct{ start, end int } // names of the objects being read
	count  int
}

const (
	untidy    = -1
	tidyDepth = 64
)

func (r *tidyReader) value(at int) int {
	if at >= len(r.src) {
		return untidy
	}
	switch r.src[at] {
	case '"':
		return tidyString(r.src, at)
	case '{':
		return r.object(at)
	case '[':
		return r.array(at)
	case 't':
		return r.word(at, "true")
	case 'f':
		return r.word(at, "false")
	case 'n':
		return r.word(at, "null")
	}
	return r.number(at)
}

// number reads a number. If tidyNumber does not decide, number formats the
// value and compares the texts.
func (r *tidyReader) number(at int) int {
	if end := tidyNumber(r.src, at); end != untidy {
		return end
	}
	s := scanner{src: r.src, pos: at}
	literal, err := s.number()
	if err != nil {
		return untidy
	}
	var buf [32]byte
	if string(appendNumber(buf[:0], literal)) != string(literal) {
		return untidy
	}
	return s.pos
}

func (r *tidyReader) word(at int, w string) int {
	if len(r.src)-at < len(w) || string(r.src[at:at+len(w)]) != w {
		return untidy
	}
	return at + len(w)
}

func (r *tidyReader) array(at int) int {
	at++
	if at < len(r.src) && r.src[at] == ']' {
		return at + 1
	}
	if r.depth++; r.depth > tidyDepth {
		return untidy
	}
	for {
		at = r.value(at)
		if at < 0 || at >= len(r.src) {
			return untidy
		}
		switch r.src[at] {
		case ',':
			at++
		case ']':
			r.depth--
			return at + 1
		default:
			return untidy
		}
	}
}

func (r *tidyReader) object(at int) int {
	at++
	if at < len(r.src) && r.src[at] == '}' {
		return at + 1
	}
	if r.depth++; r.depth > tidyDepth {
		return untidy
	}
	first := r.count
	var met uint64 // marks of the names that were met
	for {
		name := at
		if at >= len(r.src) || r.src[at] != '"' {
			return untidy
		}
		at = tidyString(r.src, at)
		if at < 0 || at >= len(r.src) || r.src[at] != ':' || !r.isNew(name, at, first, &met) {
			return untidy
		}
		value := at + 1
		at = r.value(value)
		if at < 0 || at >= len(r.src) {
			return untidy
		}
		if r.depth == 1 {
			r.pick(r.src[name+1:value-2], r.src[value:at])
		}
		switch r.src[at] {
		case ',':
			at++
		case '}':
			r.depth--
			r.count = first
			return at + 1
		default:
			return untidy
		}
	}
}

func (r *tidyReader) pick(name []byte, value Value) {
	r.last = name
	for i := range r.names {
		if string(name) == r.names[i] {
			r.values[i] = value
		}
	}
}

// isNew notes the name between start and end, in quotes, of an object whose
// names are in known from first on. It reports false if JavaScript would
// reorder the object because of it. met avoids comparing names that cannot be
// equal.
func (r *tidyReader) isNew(start, end, first int, met *uint64) bool {
	name := r.src[start:end]
	if r.count == len(r.known) || isIndex(name) {
		return false
	}
	mark := uint64(1) << ((uint(len(name))*8 + uint(name[1]) + uint(name[len(name)-2])) % 64)
	if *met&mark != 0 {
		for _, other := range r.known[first:r.count] {
			if string(r.src[other.start:other.end]) == string(name) {
				return false
			}
		}
	}
	*met |= mark
	r.known[r.count].start, r.known[r.count].end = start, end
	r.count++
	return true
}

// tidyString reads the string that begins at the quote at at.
func tidyString(src []byte, at int) int {
	for at++; ; {
		at += plainLen(src[at:])
		if at >= len(src) {
			return untidy
		}
		switch c := src[at]; {
		case c == '"':
			return at + 1
		case c == '\\':
			n := tidyEscape(src[at:])
			if n == 0 {
				return untidy
			}
			at += n
		case c >= utf8.RuneSelf:
			_, n := utf8.DecodeRune(src[at:])
			if n == 1 {
				return untidy // no UTF-8
			}
			at += n
		default:
			return untidy
		}
	}
}

// tidyEscape is the length of the escape at the beginning of b, or 0 if
// JSON.stringify would not write it.
func tidyEscape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if short[b[1]] {
		return 2
	}
	if len(b) < 6 || string(b[1:4]) != "u00" {
		return 0
	}
	c, ok := hex4(b[2:])
	if !ok || c >= 0x20 || string(b[:6]) != string(appendUnit(make([]byte, 0, 8), c)) {
		return 0
	}
	return 6
}

// tidyNumber reads a number of up to 15 digits without an exponent. Such a
// number is the shortest that reads back as its double, unless it ends in a
// zero after the point or is so small that JavaScript would write an exponent.
func tidyNumber(src []byte, at int) int {
	start := at
	if src[at] == '-' {
		at++
	}
	whole := at
	for at < len(src) && isDigit(src[at]) {
		at++
	}
	n := at - whole
	if n == 0 || n > 15 || n > 1 && src[whole] == '0' {
		return untidy
	}
	if at >= len(src) || src[at] != '.' {
		if at < len(src) && (src[at] == 'e' || src[at] == 'E') || n == 1 && src[whole] == '0' && whole > start {
			return untidy // an exponent, or -0
		}
		return at
	}
	at++
	point := at
	for at < len(src) && isDigit(src[at]) {
		at++
	}
	if at == point || n+at-point > 15 || src[at-1] == '0' || at < len(src) && (src[at] == 'e' || src[at] == 'E') {
		return untidy
	}
	if src[whole] == '0' && at-point > 6 && string(src[point:point+6]) == "000000" {
		return untidy
	}
	return at
}
