package jsjson

import "bytes"

// Tidy is text that begins with a value known to be tidy, as PickTidy found
// out at some time: it is read without being checked again, and no further than
// is asked for. Of other text nothing is promised but that reading it ends.
type Tidy []byte

// Pick sets values[i] to the member called names[i], or to nil if there is
// none, as PickTidy does. It stops when it has found them all.
func (t Tidy) Pick(names []string, values []Value) {
	clear(values[:len(names)])
	missing := len(names)
	for at := 0; missing > 0; {
		name, value := t.member(at)
		if name == nil {
			return
		}
		at = t.skip(value)
		for i := range names {
			if values[i] == nil && string(name) == names[i] {
				values[i] = Value(t[value:at])
				missing--
			}
		}
	}
}

// From returns the rest of t from the value of the member called name on, or
// nil if there is none.
func (t Tidy) From(name string) Tidy {
	for at := 0; ; {
		met, value := t.member(at)
		if met == nil {
			return nil
		}
		if string(met) == name {
			return t[value:]
		}
		at = t.skip(value)
	}
}

// Value returns the value that t begins with.
func (t Tidy) Value() Value { return Value(t[:t.skip(0)]) }

// member returns the name after the brace or the comma at at, and the position
// of its value. The name is nil if t is not an object, or has no more members.
func (t Tidy) member(at int) (name []byte, value int) {
	before := byte(',')
	if at == 0 {
		before = '{'
	}
	if at+1 >= len(t) || t[at] != before || t[at+1] != '"' {
		return nil, 0
	}
	at++
	end := t.skipString(at)
	if end >= len(t) {
		return nil, 0
	}
	return t[at+1 : end-1], end + 1
}

// skip returns the end of the value that begins at at.
func (t Tidy) skip(at int) int {
	depth := 0
	for at < len(t) {
		switch t[at] {
		case '"':
			at = t.skipString(at)
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
			at++
		case ',':
			if depth == 0 {
				return at
			}
			at++
			continue
		default:
			at++
			continue
		}
		if depth == 0 {
			return at
		}
	}
	return len(t)
}

// skipString returns the end of the string that begins at at.
func (t Tidy) skipString(at int) int {
	for end := at + 1; ; {
		n := bytes.IndexByte(t[end:], '"')
		if n < 0 {
			return len(t)
		}
		end += n
		escape := end
		for escape > at+1 && t[escape-1] == '\\' {
			escape--
		}
		even := (end-escape)%2 == 0
		end++
		if even {
			return end
		}
	}
}
