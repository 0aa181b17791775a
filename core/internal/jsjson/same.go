package jsjson

import "unicode/utf8"

// A sameReader finds out whether text is what JavaScript would write for it,
// and need only be copied. Most text is, for agents wrote it so.
type sameReader struct {
	scanner
	names [32]struct{ start, end int } // of the members of the objects being read
	known int                          // how many names there are
}

// isSame reports whether src is one JSON value as JSON.stringify writes it. It
// may say no where that is too long to find out.
func isSame(src []byte) bool {
	r := sameReader{scanner: scanner{src: src}}
	return r.value() && r.pos == len(src)
}

func (r *sameReader) value() bool {
	if r.pos >= len(r.src) {
		return false
	}
	switch r.src[r.pos] {
	case '{':
		return r.object(nil)
	case '[':
		return r.array()
	case '"':
		return r.text()
	case 't':
		return r.word("true") == nil
	case 'f':
		return r.word("false") == nil
	case 'n':
		return r.word("null") == nil
	}
	return r.sameNumber()
}

// take goes behind c where it is next.
func (r *sameReader) take(c byte) bool {
	if !r.at(c) {
		return false
	}
	r.pos++
	return true
}

func (r *sameReader) array() bool {
	if r.enter() != nil {
		return false
	}
	for first := true; !r.at(']'); first = false {
		if !first && !r.take(',') || !r.value() {
			return false
		}
	}
	r.leave()
	return true
}

// object reads an object, and where p is not nil notes for it the members that it
// asks for.
func (r *sameReader) object(p *picker) bool {
	if r.enter() != nil {
		return false
	}
	base := r.known
	for first := true; !r.at('}'); first = false {
		if !first && !r.take(',') {
			return false
		}
		name := r.pos
		if !r.name(base) || !r.take(':') {
			return false
		}
		value := r.pos
		if !r.value() {
			return false
		}
		if p != nil {
			p.note(r.src[name+1:value-2], r.src[value:r.pos])
		}
	}
	r.known = base
	r.leave()
	return true
}

// name reads a name that does not make its object change places: not an array
// index, and not one that the object has already.
func (r *sameReader) name(base int) bool {
	start := r.pos
	if !r.at('"') || !r.text() || r.known == len(r.names) {
		return false
	}
	name := r.src[start:r.pos]
	if isIndex(name) {
		return false
	}
	for _, other := range r.names[base:r.known] {
		if string(r.src[other.start:other.end]) == string(name) {
			return false
		}
	}
	r.names[r.known].start, r.names[r.known].end = start, r.pos
	r.known++
	return true
}

func (r *sameReader) text() bool {
	for r.pos++; ; {
		r.pos += plainLen(r.src[r.pos:])
		if r.pos >= len(r.src) {
			return false
		}
		switch c := r.src[r.pos]; {
		case c == '"':
			r.pos++
			return true
		case c == '\\':
			if !r.sameEscape() {
				return false
			}
		case c >= utf8.RuneSelf:
			n := runLen(r.src[r.pos:])
			if !utf8.Valid(r.src[r.pos : r.pos+n]) {
				return false
			}
			r.pos += n
		default:
			return false
		}
	}
}

// sameEscape reads an escape that JSON.stringify writes; a lone surrogate, which
// is one as well, is left to those who look at what follows it.
func (r *sameReader) sameEscape() bool {
	rest := r.src[r.pos:]
	switch {
	case len(rest) > 1 && short[rest[1]]:
		r.pos += 2
		return true
	case len(rest) < 6 || string(rest[:4]) != `\u00`:
		return false
	}
	u, ok := hex4(rest[2:])
	if !ok || u >= 0x20 || string(appendUnit(make([]byte, 0, 6), u)) != string(rest[:6]) {
		return false
	}
	r.pos += 6
	return true
}

// sameNumber reads a number. A decimal of at most fifteen digits is the
// shortest that stands for its double.
func (r *sameReader) sameNumber() bool {
	lit, err := r.number()
	if err != nil || isShortInt(lit) {
		return err == nil
	}
	var buf [32]byte
	return string(appendNumber(buf[:0], lit)) == string(lit)
}
