package jsjson

import "bytes"

// PickAgain is Pick for text that was read before without an error, or that is part of
// such text. It does not check the text again. For other text it returns, and the values
// are undefined.
func PickAgain(src []byte, names []string, values []Value) {
	clear(values[:len(names)])
	for at := space(src, space(src, 0)+1); at < len(src) && src[at] == '"'; {
		end := Tidy(src).skipString(at)
		if end-at < 2 {
			return
		}
		name := src[at+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = unescapedName(src[at:end])
		}
		v, next := valueAgain(src, space(src, space(src, end)+1))
		for i := range names {
			if string(name) == names[i] {
				values[i] = v
			}
		}
		at = next
	}
}

// unescapedName returns a name as JSON.stringify writes it, without its quotes.
func unescapedName(quoted []byte) []byte {
	s := scanner{src: quoted}
	b, err := s.appendString(nil)
	if err != nil {
		return nil
	}
	return b[1 : len(b)-1]
}

// EachAgain is Each for text that PickAgain may read. It does not call f if the text is
// not an array.
func EachAgain(src []byte, f func(item Value)) {
	at := space(src, 0)
	if at >= len(src) || src[at] != '[' {
		return
	}
	for at = space(src, at+1); at < len(src) && src[at] != ']'; {
		v, next := valueAgain(src, at)
		f(v)
		at = next
	}
}

// valueAgain returns the value that begins at at, and where the next item begins.
func valueAgain(src []byte, at int) (v Value, next int) {
	if at >= len(src) {
		return nil, len(src)
	}
	end := Tidy(src).skip(at)
	next = end
	for end > at && src[end-1] <= ' ' { // after a number or a word
		end--
	}
	if next = space(src, next); next < len(src) && src[next] == ',' {
		next = space(src, next+1)
	}
	return src[at:end:end], max(next, at+1)
}

// space returns the position of the first byte from at on that is no white space.
func space(src []byte, at int) int {
	for at < len(src) && src[at] <= ' ' {
		at++
	}
	return at
}
